" Programs in Selvedge's modelling language.
if exists("b:current_syntax")
  finish
endif

syntax keyword selDeclaration import const enum record actor task future channel lossy reordering ghost shared atomic mutex rwlock cond semaphore barrier list map
syntax keyword selDeclaration fn proc thread daemon always eventually leads_to finally independent let
syntax keyword selControl if else while for each in loop break continue return skip yield choose progress
syntax keyword selOperation assert assume await scan lock unlock read_lock read_unlock write_lock write_unlock
syntax keyword selOperation send receive after spawn join post monitor
syntax keyword selValue true false self
syntax keyword selOrdering relaxed acquire release acq_rel seq_cst
syntax match selNumber "\<\(0[xX][0-9a-fA-F_]\+\|[0-9][0-9_]*\)\>"
syntax region selString start=+"+ skip=+\\.+ end=+"+ oneline
syntax match selComment "//.*$"
syntax match selExpectation "^//#.*$"
syntax region selComment start="/\*" end="\*/" contains=selComment

highlight default link selDeclaration Type
highlight default link selControl Statement
highlight default link selOperation Keyword
highlight default link selValue Constant
highlight default link selOrdering Constant
highlight default link selNumber Number
highlight default link selString String
highlight default link selComment Comment
highlight default link selExpectation SpecialComment

let b:current_syntax = "sel"
