-- For Neovim 0.11 and newer: `vim.lsp.enable('selvedge')` in init.lua.
return {
  cmd = { 'selvedge', 'lsp' },
  filetypes = { 'sel' },
  root_markers = { '.git' },
}
