" Programs in Selvedge's modelling language.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1

setlocal commentstring=//\ %s comments=s1:/*,mb:*,ex:*/,:// expandtab shiftwidth=4 softtabstop=4
setlocal makeprg=selvedge\ check\ --color\ never\ %:S
" The message, then ` --> file:line:column`.
setlocal errorformat=%E%trror:\ %m,%Eviolated:\ %m,%Z%\\s%#-->\ %f:%l:%c,%-G%.%#
if executable("selvedge")
  setlocal formatprg=selvedge\ fmt\ -
endif

let b:undo_ftplugin = "setlocal commentstring< comments< expandtab< shiftwidth< softtabstop< makeprg< errorformat< formatprg<"
