// The other side of `selvedge lsp`: a process, messages over its pipes. No library, so that the folder can be copied as it is.
"use strict";

const { spawn } = require("node:child_process");

class Client {
  /// `onMessage(method, params)` is called with what the server tells; what it returns answers what the server asks.
  constructor(command, onMessage, onEnd) {
    this.next = 0;
    this.waiting = new Map();
    this.buffer = Buffer.alloc(0);
    this.onMessage = onMessage;
    this.isOpen = true;
    this.process = spawn(command, ["lsp"], { stdio: ["pipe", "pipe", "pipe"] });
    this.process.stdout.on("data", (data) => this.receive(data));
    let complaint = "";
    this.process.stderr.on("data", (data) => { complaint = (complaint + data).slice(-2000); });
    const end = (why) => {
      if (!this.isOpen) return;
      this.isOpen = false;
      for (const { reject } of this.waiting.values()) reject(new Error("the language server has ended"));
      this.waiting.clear();
      onEnd(why);
    };
    this.process.on("error", (error) => end(error.message));
    this.process.on("exit", (code) => end(complaint || `exit code ${code}`));
    this.process.stdin.on("error", () => {});
  }

  receive(data) {
    this.buffer = Buffer.concat([this.buffer, data]);
    for (;;) {
      const head = this.buffer.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = Number(/content-length: *(\d+)/i.exec(this.buffer.toString("latin1", 0, head))?.[1] ?? 0);
      if (this.buffer.length < head + 4 + length) return;
      const body = this.buffer.toString("utf8", head + 4, head + 4 + length);
      this.buffer = this.buffer.subarray(head + 4 + length);
      this.message(JSON.parse(body));
    }
  }

  message(message) {
    if (message.method) {
      const result = this.onMessage(message.method, message.params);
      if (message.id !== undefined) {
        Promise.resolve(result).then((result) => this.send({ id: message.id, result: result ?? null }));
      }
      return;
    }
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (!waiting) return;
    if (message.error) waiting.reject(Object.assign(new Error(message.error.message), { code: message.error.code }));
    else waiting.resolve(message.result);
  }

  send(message) {
    if (!this.isOpen) return;
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    this.process.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  tell(method, params) {
    this.send({ method, params });
  }

  /// Asks, and cancels when `token` says so.
  ask(method, params, token) {
    if (!this.isOpen) return Promise.reject(new Error("the language server has ended"));
    const id = ++this.next;
    const cancelled = token?.onCancellationRequested(() => this.tell("$/cancelRequest", { id }));
    const answer = new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    this.send({ id, method, params });
    return answer.finally(() => cancelled?.dispose());
  }

  async stop() {
    if (!this.isOpen) return;
    await this.ask("shutdown").catch(() => {});
    this.tell("exit");
  }
}

module.exports = { Client };
