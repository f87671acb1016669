// Opens each page at two widths and in both colour schemes, and complains about what it finds.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import puppeteer from "puppeteer-core";

const [program, ...pages] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await puppeteer.launch({
  executablePath: program.includes("/") ? program : `/usr/bin/${program}`,
  args: ["--no-sandbox", "--disable-gpu"],
});
const complaints = [];
for (const path of pages) {
  for (const width of [380, 1400]) {
    for (const scheme of ["light", "dark"]) {
      const where = `${path} at ${width} pixels, ${scheme}`;
      const page = await browser.newPage();
      page.on("console", (told) => complaints.push(`${where}: console: ${told.text()}`));
      page.on("pageerror", (error) => complaints.push(`${where}: error: ${error.message}`));
      page.on("dialog", (dialog) => {
        complaints.push(`${where}: a script ran`);
        dialog.dismiss();
      });
      page.on("request", (request) => {
        if (request.url() !== `file://${path}`) complaints.push(`${where}: asks for ${request.url()}`);
      });
      await page.setViewport({ width, height: 900 });
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
      await page.goto(`file://${path}`);
      const [wanted, given] = await page.evaluate(() => [
        document.documentElement.scrollWidth,
        document.documentElement.clientWidth,
      ]);
      if (wanted > given) complaints.push(`${where}: ${wanted} pixels wide`);
      const shot = path.replace(".html", `-${width}-${scheme}`);
      await page.screenshot({ path: `${shot}.png` });
      await page.screenshot({ path: `${shot}-whole.png`, fullPage: true });
      // The first screen, without what differs from run to run.
      const lines = await page.evaluate(() => [
        document.querySelector("h1").innerText,
        ...[...document.querySelectorAll(".numbers li")].map((number) => number.lastChild.textContent),
        ...[...document.querySelectorAll(".stories tr")].map((row) =>
          [...row.querySelectorAll(".badge, thead th, tbody th")].map((it) => it.innerText.split("\n")[0]).join("  ")),
      ]);
      writeFileSync(`${shot}.txt`, lines.join("\n") + "\n");
      await page.evaluate(() => document.querySelectorAll("details").forEach((it) => (it.open = true)));
      await page.evaluate(axe);
      const found = await page.evaluate(() => window.axe.run());
      for (const { id, impact, nodes } of found.violations) {
        if (impact === "serious" || impact === "critical") {
          complaints.push(`${where}: ${id} (${impact}): ${nodes[0].html.slice(0, 200)}`);
        }
      }
      await page.close();
    }
  }
}
await browser.close();
complaints.forEach((line) => console.error(line));
console.log(`${pages.length} pages, ${complaints.length} complaints`);
process.exit(complaints.length === 0 ? 0 : 1);
