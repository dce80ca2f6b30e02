"""The studio in the browser: a request in, a page or a block out.

`routes` lists every URL; `middleware` is what each request passes first; `pages` holds one file a
noun; `render` is how HTML leaves; `live` keeps open pages true. All of it knows the core as
`Runtime` (what one may do) and `Reader` (what one may ask), and as nothing else.
"""
