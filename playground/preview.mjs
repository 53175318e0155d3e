// Draws src/preview.png, which links to the page show: `npm run preview`, after `make playground`.
import { browser, done, open } from "./tests/page.mjs";

const chromium = await browser();
const { page } = await open(chromium, "?embed#bufferbloat", { width: 1200, height: 630, still: true });
await done(page);
await page.addStyleTag({ content: "body { zoom: 1.25 } #story { display: none } main { grid-template-columns: minmax(0, 1fr); padding-top: 6px } main > div:first-child { display: none } .embedded-only, .player { display: none } .scene { height: 150px }" });
await page.evaluate(() => {
  document.querySelectorAll("#choices button")[2].click();
  const time = document.getElementById("time");
  time.value = "480";
  time.dispatchEvent(new Event("input"));
});
await page.evaluate(() => new Promise((soon) => setTimeout(soon, 500)));
await page.screenshot({ path: new URL("src/preview.png", import.meta.url).pathname });
await chromium.close();
