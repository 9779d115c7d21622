// report_page.mjs REPORT.html INSTRUCTIONS [SCREENSHOT.png]: opens a report in headless Chromium, without a network, and uses it as
// people do: zoom, keys, clicks, search, sort, dark and light. The browser is driven over its pipe (DevTools protocol).
import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import assert from "node:assert/strict";
import { end_browser } from "./browser.mjs";

const [page, ninsn, screenshot] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), "report-"));
const browser = spawn("chromium", ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
	"--remote-debugging-pipe", "--no-first-run", "--user-data-dir=" + profile, "--window-size=1400,1000", "about:blank"],
	{stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], detached: true});
const [to, from] = [browser.stdio[3], browser.stdio[4]];
const waiting = new Map(), events = [];
let buffer = "", last = 0, session;
from.setEncoding("utf8").on("data", chunk => {
	buffer += chunk;
	for (let end; (end = buffer.indexOf("\0")) >= 0; buffer = buffer.slice(end + 1)) {
		const message = JSON.parse(buffer.slice(0, end));
		if (message.id) waiting.get(message.id)(message); else events.push(message);
	}
});
function send(method, params = {}) {
	return new Promise((done, fail) => {
		waiting.set(++last, message => message.error ? fail(new Error(method + ": " + message.error.message)) : done(message.result));
		to.write(JSON.stringify({id: last, method, params, ...(session ? {sessionId: session} : {})}) + "\0");
	});
}
async function run(expression) {
	const {result, exceptionDetails} = await send("Runtime.evaluate", {expression, returnByValue: true, awaitPromise: true});
	assert(!exceptionDetails, expression + ": " + JSON.stringify(exceptionDetails));
	return result.value;
}
async function key(key, code = key, text) {
	await send("Input.dispatchKeyEvent", {type: "keyDown", key, code, ...(text ? {text} : {})});
	await send("Input.dispatchKeyEvent", {type: "keyUp", key, code});
}
async function click(selector) {
	const box = await run(`{ const e = document.querySelector(${JSON.stringify(selector)}); e.scrollIntoView({block: "center"}); const b = e.getBoundingClientRect(); ({x: b.x + b.width / 2, y: b.y + b.height / 2}) }`);
	for (const type of ["mousePressed", "mouseReleased"])
		await send("Input.dispatchMouseEvent", {type, ...box, button: "left", clickCount: 1});
}

try {
	const {targetId} = await send("Target.createTarget", {url: "about:blank"});
	session = (await send("Target.attachToTarget", {targetId, flatten: true})).sessionId;
	for (const domain of ["Page", "Runtime", "Network", "Log"]) await send(domain + ".enable");
	await send("Emulation.setEmulatedMedia", {features: [{name: "prefers-color-scheme", value: "light"}]});
	const began = Date.now();
	await send("Page.navigate", {url: "file://" + resolve(page)});
	while (await run("document.readyState") !== "complete" || await run("location.protocol") !== "file:") ;
	const opened = Date.now() - began;

	// It is whole, nothing went wrong, and nothing else was asked for.
	const facts = JSON.parse(await run("JSON.stringify({ninsn: data.ninsn, processes: data.processes.length, cpus: data.cpus.length, rows: document.querySelectorAll('#table tbody tr').length, flame: document.querySelectorAll('#flame button').length, root: flame.root.total})"));
	assert(facts.ninsn > 0 && facts.root === facts.ninsn, "the flame graph is not of all instructions: " + JSON.stringify(facts));
	assert(!+ninsn || facts.ninsn === +ninsn, "not the account's instructions");
	const sums = JSON.parse(await run(`{
		const every = (list, size, ...at) => { let sum = 0; for (let i = 0; i < list.length; i += size) for (const k of at) sum += list[i + k]; return sum; };
		JSON.stringify([every(data.processes.flat(), 9, 3, 4), data.trees.reduce((sum, tree) => sum + tree.total, 0),
			data.trees.reduce((sum, tree) => sum + every(tree.nodes, 4, 3), 0), data.cpus.reduce((sum, cpu) => sum + every(cpu.runs, 5, 3, 4), 0)]) }`));
	assert.deepEqual(sums, Array(4).fill(facts.ninsn), "processes, trees, their nodes, the timeline");
	assert.equal(facts.rows, Math.min(500, facts.processes));
	assert(facts.flame > 10, "no flame graph");
	const requests = events.filter(event => event.method === "Network.requestWillBeSent").map(event => event.params.request.url);
	assert.deepEqual(requests.filter(url => !url.startsWith("file://" + resolve(page))), []);
	assert.deepEqual(events.filter(event => event.method === "Runtime.exceptionThrown" || (event.method === "Log.entryAdded" && event.params.entry.level === "error")), []);

	// The timeline: pixels of processes; zoom by button, key and wheel; all again.
	const inked = await run(`{ const c = document.getElementById("time"), p = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; const seen = new Set(); for (let i = 0; i < p.length; i += 4) seen.add(p[i] << 16 | p[i + 1] << 8 | p[i + 2]); seen.size }`);
	assert(inked > 4, "the timeline is empty");
	const span = () => run("view.to - view.from");
	const whole = await span();
	await click("#in");
	assert(Math.abs(await span() - whole / 2) < whole / 1000, "zoom in");
	await run("document.getElementById('time').focus()");
	await key("-", "Minus", "-");
	assert.equal(await span(), whole);
	await key("+", "Equal", "+"); await key("+", "Equal", "+");
	assert(await span() < whole / 3);
	const before = await run("view.from");
	await key("ArrowRight");
	assert(await run("view.from") > before, "the arrow key does not move");
	assert((await run("document.getElementById('middle').textContent")).startsWith("CPU "));
	await key("Home");
	assert.equal(await span(), whole);
	const where = await run(`{ const e = document.getElementById("time"); e.scrollIntoView(); const b = e.getBoundingClientRect(); ({x: b.x + b.width / 2, y: b.y + 30}) }`);
	await send("Input.dispatchMouseEvent", {type: "mouseWheel", ...where, deltaX: 0, deltaY: -100});
	for (let i = 0; i < 50 && await span() === whole; i++) await new Promise(done => setTimeout(done, 20));
	assert(await span() < whole, "the wheel does not zoom");
	await send("Input.dispatchMouseEvent", {type: "mouseMoved", ...where});
	assert.match(await run("document.getElementById('tip').textContent"), /^CPU /);
	await click("#all");

	// Processes: search, sort, choose with mouse and key.
	await click("#search");
	await send("Input.insertText", {text: await run("data.processes[0][1]")});
	const found = await run("[...document.querySelectorAll('#table tbody tr')].every(row => row.textContent.includes(data.processes[0][1]))");
	assert(found && await run("document.querySelectorAll('#table tbody tr').length") > 0, "search");
	await run("document.getElementById('search').value = ''; put_table()");
	await click("#table th:nth-child(1) button");
	const numbers = await run("[...document.querySelectorAll('#table tbody tr')].map(row => +row.cells[0].textContent)");
	assert.deepEqual(numbers, [...numbers].sort((a, b) => b - a), "sorted by number");
	await click("#table tbody tr:first-child td:nth-child(2)");
	const chosen = await run("view.wanted");
	assert(chosen >= 0 && await run("flame.root.total === data.processes[view.wanted][3] + data.processes[view.wanted][4]"), "the flame graph of a process");
	await run("document.querySelector('#table tbody tr').focus()");
	await key("Enter");
	assert.equal(await run("view.wanted"), -1);

	// The flame graph: enlarge, the whole again, find.
	await run("document.querySelector('#flame button').focus()");
	await key("ArrowDown"); await key("Enter", "Enter", "\r");
	assert(await run("flame.top !== flame.root && flame.top.total > 0"), "Enter does not enlarge");
	await click("#up");
	assert(await run("flame.top === flame.root"));
	await click("#find");
	await send("Input.insertText", {text: "main"});
	assert.match(await run("document.getElementById('found').textContent"), /^[1-9][0-9,]* found, /);

	// Dark and light.
	const light = await run("getComputedStyle(document.body).backgroundColor");
	await click("#theme");
	const dark = await run("getComputedStyle(document.body).backgroundColor");
	assert.notEqual(light, dark);
	await click("#theme");
	await run("delete document.documentElement.dataset.theme; draw_time()");
	const drawn = await run("document.getElementById('time').toDataURL()");
	await send("Emulation.setEmulatedMedia", {features: [{name: "prefers-color-scheme", value: "dark"}]});
	for (let i = 0; i < 50 && await run("document.getElementById('time').toDataURL()") === drawn; i++) await new Promise(done => setTimeout(done, 20));
	assert.notEqual(await run("document.getElementById('time').toDataURL()"), drawn, "the timeline stays light");
	assert.equal(await run("getComputedStyle(document.body).backgroundColor"), dark);

	// Whoever cannot see it has names for all that can be operated.
	const tree = (await send("Accessibility.getFullAXTree")).nodes;
	const nameless = tree.filter(node => !node.ignored && ["button", "textbox", "searchbox", "combobox"].includes(node.role?.value) && !node.name?.value);
	assert.deepEqual(nameless, []);

	await send("Emulation.setEmulatedMedia", {features: [{name: "prefers-color-scheme", value: "light"}]});
	await run("document.getElementById('find').value = ''; draw_flame(); draw_time(); scrollTo(0, 0); document.activeElement.blur(); hide_tip()");
	const exceptions = events.filter(event => event.method === "Runtime.exceptionThrown");
	assert.deepEqual(exceptions, []);
	if (screenshot)
		writeFileSync(screenshot, Buffer.from((await send("Page.captureScreenshot", {format: "png", captureBeyondViewport: false})).data, "base64"));
	console.log(JSON.stringify({opened_ms: opened, ...facts}));
} finally {
	await end_browser(browser, profile);
}
