// Looks at the dashboard with a real browser: every page wide, dark and on a phone, with the accessibility rules of axe; then
// what the pages do by themselves, by keyboard and without a script.
//
// check.mjs MODULES BROWSER ADDRESS FOLDER PAGES: writes screenshots into FOLDER and what is wrong, as JSON, to its last line.
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";

const [modules, executablePath, base, folder, list] = process.argv.slice(2);
const require = createRequire(path.join(modules, "x.js"));
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const pages = JSON.parse(list);
const wrong = [];

const LOOKS = {
  wide: { viewport: { width: 1280, height: 900 }, colorScheme: "light" },
  dark: { viewport: { width: 1280, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: "light", deviceScaleFactor: 2, isMobile: true, hasTouch: true },
};
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const watched = (page, name) => {
  page.on("console", (message) => message.type() === "error" && wrong.push(`${name}: console: ${message.text()}`));
  page.on("pageerror", (error) => wrong.push(`${name}: script: ${error.message}`));
  page.on("request", (request) => request.url().startsWith(base) || wrong.push(`${name}: asks ${request.url()}`));
};

for (const [look, options] of Object.entries(LOOKS)) {
  // The rules are brought in from outside, which the pages' policy forbids, as it should.
  const context = await browser.newContext({ ...options, bypassCSP: true });
  for (const [name, target] of Object.entries(pages)) {
    const page = await context.newPage();
    watched(page, `${name} ${look}`);
    const answer = await page.goto(base + target, { waitUntil: "load" });
    if (!answer.ok()) wrong.push(`${name}: ${answer.status()}`);
    await page.screenshot({ path: path.join(folder, `${name}-${look}.png`), fullPage: true });
    const sideways = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (sideways > 0) wrong.push(`${name} ${look}: scrolls sideways by ${sideways} px`);
    await page.evaluate(axe);
    const { violations } = await page.evaluate((rules) => globalThis.axe.run(document, { runOnly: rules }), RULES);
    for (const { id, nodes } of violations) wrong.push(`${name} ${look}: ${id}: ${nodes.map((node) => node.target.join(" ")).slice(0, 3).join(", ")}`);
    await page.close();
  }
  await context.close();
}

const context = await browser.newContext(LOOKS.wide);

// By keyboard: first the way to the content, then the menu; arrows turn turns over.
{
  const page = await context.newPage();
  watched(page, "keyboard");
  await page.goto(base + pages.overview);
  await page.keyboard.press("Tab");
  const first = await page.evaluate(() => document.activeElement.className);
  if (first !== "skip") wrong.push(`keyboard: the first stop is ${first}`);
  await page.keyboard.press("Enter");
  if ((await page.evaluate(() => document.activeElement.id)) !== "main") wrong.push("keyboard: the way to the content leads elsewhere");
  await page.goto(base + pages.request);
  const here = page.url();
  await page.keyboard.press("ArrowRight");
  await page.waitForURL((url) => url.href !== here, { timeout: 5000 }).catch(() => wrong.push("keyboard: an arrow turns nothing over"));
  await page.close();
}

// A column of a chart leads to its turn, and a filter applies by itself.
{
  const page = await context.newPage();
  watched(page, "pointer");
  await page.goto(base + pages.session);
  await page.locator("g.to").nth(8).click();
  await page.waitForURL(/\/request\//, { timeout: 5000 }).catch(() => wrong.push("pointer: a column leads nowhere"));
  await page.goto(base + pages.sessions);
  await page.selectOption("select[name=agent]", "codex");
  await page.waitForURL(/agent=codex/, { timeout: 5000 }).catch(() => wrong.push("pointer: a filter does not apply"));
  await page.close();
}

// Without a script everything is there but the life.
{
  const bare = await browser.newContext({ ...LOOKS.wide, javaScriptEnabled: false });
  const page = await bare.newPage();
  await page.goto(base + pages.sessions);
  if (!(await page.locator("form.choices button").isVisible())) wrong.push("without a script: filters cannot be sent");
  if ((await page.locator("tbody tr").count()) < 5) wrong.push("without a script: no sessions");
  await bare.close();
}

// Live: what is recorded while one looks appears, and what one was reading stays.
{
  const page = await context.newPage();
  watched(page, "live");
  await page.goto(base + pages.requests);
  await page.waitForSelector("#live[data-state=on]", { timeout: 10000 }).catch(() => wrong.push("live: no stream of events"));
  await page.locator("tbody a").nth(2).focus();
  await page.evaluate(() => document.querySelector(".scroll").setAttribute("data-mark", "same"));
  console.log("NOW");
  await page.waitForFunction(() => document.querySelector("main").textContent.includes("model-of-now"), null, { timeout: 15000 })
    .catch(() => wrong.push("live: what was recorded does not appear"));
  if ((await page.evaluate(() => document.activeElement.nodeName)) !== "A") wrong.push("live: the focus is lost");
  await page.close();
}

await browser.close();
console.log(JSON.stringify(wrong));
