; Programs in Selvedge's modelling language, highlighted with the grammar of Rust: what it cannot parse still has the right words, numbers,
; strings and comments, whatever lies around them. Of two patterns for one name, the first counts.

[(line_comment) (block_comment)] @comment
(string_literal) @string
(escape_sequence) @constant.character.escape
(integer_literal) @constant.numeric.integer
(boolean_literal) @constant.builtin.boolean

["const" "enum" "fn" "let"] @keyword.storage.type
["if" "else" "while" "for" "in" "loop" "break" "continue" "return"] @keyword.control

([(identifier) (type_identifier) (field_identifier)] @keyword.storage.type
  (#any-of? @keyword.storage.type
    "import" "const" "enum" "record" "actor" "task" "post" "future" "channel" "lossy" "reordering" "ghost" "shared" "atomic" "mutex" "rwlock" "cond" "semaphore" "barrier" "list" "map"
    "fn" "proc" "thread" "daemon" "always" "eventually" "leads_to" "finally" "independent" "let"))
([(identifier) (type_identifier) (field_identifier)] @keyword.control
  (#any-of? @keyword.control
    "if" "else" "while" "for" "each" "in" "loop" "break" "continue" "return" "skip" "yield" "choose" "progress"))
([(identifier) (type_identifier) (field_identifier)] @keyword
  (#any-of? @keyword
    "assert" "assume" "await" "scan" "after" "lock" "unlock" "read_lock" "read_unlock" "write_lock" "write_unlock" "send" "receive" "spawn"
    "join" "monitor"))
([(identifier) (self)] @constant.builtin
  (#any-of? @constant.builtin "true" "false" "self"))
((identifier) @constant.builtin
  (#any-of? @constant.builtin "relaxed" "acquire" "release" "acq_rel" "seq_cst"))
(call_expression function: (identifier) @function)
