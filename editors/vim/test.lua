-- Drives Neovim without a screen: `nvim --headless -u NONE --cmd 'set rtp^=editors/vim' … file.sel -c 'luafile editors/vim/test.lua'`.
-- The file has `shared x = 0;` in its first line, `thread a { x = 1; }` and `thread b { y = 2; }`. SELVEDGE names the program.

local buffer = vim.api.nvim_get_current_buf()

local function fail(why)
  io.stderr:write('failed: ' .. why .. '\n')
  vim.cmd('cquit 1')
end

local function expect(what, is_so)
  if not is_so then fail(what) end
end

local function wait(what, is_so)
  expect(what, vim.wait(60000, is_so, 20))
end

local function line(nth)
  return vim.api.nvim_buf_get_lines(buffer, nth, nth + 1, false)[1]
end

expect('the type of the file is known', vim.bo.filetype == 'sel')
local colour = vim.fn.synIDattr(vim.fn.synID(1, 1, 1), 'name')
expect('the text is highlighted: ' .. colour, colour:find('^sel'))

local config = dofile(vim.env.SELVEDGE_EDITORS .. '/vim/lsp/selvedge.lua')
expect('the command is that of the server', config.cmd[1] == 'selvedge')
config.cmd[1] = vim.env.SELVEDGE
local client = vim.lsp.start_client({ name = 'selvedge', cmd = config.cmd, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(buffer, client)

wait('a mistake is marked', function() return #vim.diagnostic.get(buffer) == 1 end)
local mark = vim.diagnostic.get(buffer)[1]
expect('it is the mistake', mark.lnum == 2 and mark.message:find('unknown variable `y`', 1, true))
vim.api.nvim_buf_set_lines(buffer, 2, 3, false, { 'thread b { x = 2; }' })
wait('it is mended', function() return #vim.diagnostic.get(buffer) == 0 end)

local hover = vim.lsp.buf_request_sync(buffer, 'textDocument/hover', {
  textDocument = vim.lsp.util.make_text_document_params(buffer),
  position = { line = 0, character = 7 },
}, 60000)
local told = hover and hover[client] and hover[client].result.contents.value or ''
expect('hover says what it is: ' .. told, told:find('shared x: int', 1, true))

vim.api.nvim_win_set_cursor(0, { 1, 7 })
vim.lsp.buf.rename('total')
wait('it is renamed', function() return line(2) == 'thread b { total = 2; }' end)
expect('everywhere', line(0) == 'shared total = 0;' and line(1) == 'thread a { total = 1; }')

vim.api.nvim_buf_set_lines(buffer, 2, 3, false, { 'thread b   {total=2;}' })
-- The name that Neovim 0.7 has for it, and that of later ones.
if vim.lsp.buf.formatting_sync then
  vim.lsp.buf.formatting_sync(nil, 60000)
else
  vim.lsp.buf.format({ timeout_ms = 60000 })
end
expect('it is formatted: ' .. line(2), line(2) == 'thread b { total = 2; }')
io.stdout:write('the editor works\n')
vim.cmd('qall!')
