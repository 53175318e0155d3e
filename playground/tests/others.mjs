// Firefox and WebKit, the engine of Safari, without a window: a page each, with what the tests need of it. Neither has to be there.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import puppeteer from "puppeteer-core";

const found = (variable, ...paths) => process.env[variable] ?? paths.find((path) => existsSync(path));
const FIREFOX = found("FIREFOX", "/usr/bin/firefox-esr", "/usr/bin/firefox", "/Applications/Firefox.app/Contents/MacOS/firefox");
// Debian: packages webkit2gtk-driver and libwebkit2gtk-4.1-0; without a screen, xvfb.
const DRIVER = found("WEBKIT_DRIVER", "/usr/bin/WebKitWebDriver");
const MINI = found("WEBKIT", ...["x86_64", "aarch64"].map((each) => `/usr/lib/${each}-linux-gnu/webkit2gtk-4.1/MiniBrowser`), "/usr/libexec/webkit2gtk-4.1/MiniBrowser");
const XVFB = found("XVFB", "/usr/bin/Xvfb");

async function firefox() {
  const browser = await puppeteer.launch({ browser: "firefox", executablePath: FIREFOX, headless: true, protocolTimeout: 240_000 });
  const page = await browser.newPage();
  const problems = [];
  page.on("console", (message) => ["error", "warn"].includes(message.type()) && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  return {
    problems,
    resize: (width, height) => page.setViewport({ width, height }),
    goto: (address) => page.goto(address),
    evaluate: (call, ...values) => page.evaluate(call, ...values),
    screenshot: (path) => page.screenshot({ path }),
    close: () => browser.close(),
  };
}

/** Starts a program and waits until it has something to say for itself on a port, or on a pipe. */
async function started(program, args, options, ready) {
  const child = spawn(program, args, options);
  const failed = new Promise((_, reject) => child.once("error", reject).once("exit", (code) => reject(new Error(`${program}: exit code ${code}`))));
  failed.catch(() => {});
  return { child, told: await Promise.race([ready(child), failed]) };
}

const free = () => new Promise((done) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => done(port));
  });
});

async function answering(address) {
  for (;;) {
    const answer = await fetch(address).catch(() => null);
    if (answer?.ok) return;
    await new Promise((soon) => setTimeout(soon, 50));
  }
}

/** WebKit by WebDriver (w3.org/TR/webdriver2), which is JSON over HTTP. */
async function webkit() {
  const children = [];
  const environment = { ...process.env };
  if (!environment.DISPLAY && !environment.WAYLAND_DISPLAY) {
    // It chooses a number that is free and writes it to the pipe 3.
    const screen = await started(XVFB, ["-displayfd", "3", "-screen", "0", "1400x1000x24", "-nolisten", "tcp"], { stdio: ["ignore", "ignore", "ignore", "pipe"] },
      (child) => new Promise((told) => child.stdio[3].once("data", (number) => told(String(number).trim()))));
    children.push(screen.child);
    environment.DISPLAY = `:${screen.told}`;
  }
  const port = await free(), root = `http://127.0.0.1:${port}`;
  const driver = await started(DRIVER, [`--port=${port}`], { stdio: "ignore", env: environment }, () => answering(`${root}/status`));
  children.push(driver.child);
  const ask = async (method, path, body) => {
    const answer = await fetch(`${root}${path}`, { method, ...(body ? { body: JSON.stringify(body) } : {}) });
    const { value } = await answer.json();
    if (!answer.ok) throw new Error(`${path}: ${value.error}: ${value.message}`);
    return value;
  };
  const options = { binary: MINI, args: ["--automation"] };
  const { sessionId } = await ask("POST", "/session", { capabilities: { alwaysMatch: { "webkitgtk:browserOptions": options } } });
  const at = `/session/${sessionId}`;
  await ask("POST", `${at}/timeouts`, { script: 240_000, pageLoad: 240_000 });
  return {
    problems: [],
    resize: (width, height) => ask("POST", `${at}/window/rect`, { width, height }),
    goto: (url) => ask("POST", `${at}/url`, { url }),
    evaluate: (call, ...args) => ask("POST", `${at}/execute/sync`, { script: `return (${call})(...arguments)`, args }),
    screenshot: async (path) => writeFile(path, Buffer.from(await ask("GET", `${at}/screenshot`), "base64")),
    close: async () => {
      await ask("DELETE", at).catch(() => {});
      for (const child of children.reverse()) child.removeAllListeners("exit").kill();
    },
  };
}

/** Each with why it is not there, or how to open a page in it. */
export const OTHERS = {
  Firefox: { missing: FIREFOX ? "" : "no Firefox: set FIREFOX", open: firefox },
  WebKit: {
    missing: !DRIVER || !MINI ? "no WebKit: Debian's webkit2gtk-driver, or set WEBKIT_DRIVER and WEBKIT"
      : process.env.DISPLAY || process.env.WAYLAND_DISPLAY || XVFB ? "" : "no screen for WebKit: Debian's xvfb, or set XVFB",
    open: webkit,
  },
};
