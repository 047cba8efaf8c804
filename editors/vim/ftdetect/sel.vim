autocmd BufRead,BufNewFile *.sel setfiletype sel
