// A real browser for the tests of the web console: Chromium of an npm package, with fonts of another, so that `npm ci`
// brings all it needs.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { HubProcess } from '../e2e/process.ts';
import { isNightly } from '../runs.ts';
import { keepAtClose, type PageSlot, takeIdlePage } from './idle-pages.ts';

const require = createRequire(import.meta.url);
const cache = new URL('../../node_modules/.cache/chromium', import.meta.url).pathname;

/** Chromium unpacks itself into TMPDIR: a folder of the project, where nobody else's temporary files are. */
export async function binary(): Promise<string> {
  if (process.env.CHROMIUM_PATH) return process.env.CHROMIUM_PATH;
  mkdirSync(cache, { recursive: true });
  const before = process.env.TMPDIR;
  process.env.TMPDIR = cache;
  try {
    const { default: packed } = await import('@sparticuz/chromium');
    return await packed.executablePath();
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
}

/** A fresh machine has no fonts: text would have no size. */
function fonts(): string {
  const folder = join(dirname(require.resolve('dejavu-fonts-ttf/package.json')), 'ttf');
  mkdirSync(cache, { recursive: true });
  const file = join(cache, 'fonts.conf');
  writeFileSync(
    file,
    `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><selectfont><rejectfont><glob>*Serif*</glob></rejectfont><rejectfont><glob>*MathTeX*</glob></rejectfont></selectfont><dir>${folder}</dir><cachedir>${join(cache, 'fonts')}</cachedir>
<alias><family>system-ui</family><prefer><family>DejaVu Sans</family></prefer></alias>
<alias><family>sans-serif</family><prefer><family>DejaVu Sans</family></prefer></alias>
<alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias></fontconfig>`,
  );
  return file;
}

let starting: Promise<Browser> | null = null;

/** The one browser of this run. */
export function browser(): Promise<Browser> {
  starting ??= binary().then((executablePath) =>
    chromium.launch({
      executablePath,
      env: { ...process.env, FONTCONFIG_FILE: fonts() } as { [name: string]: string },
      // Chromium refuses its sandbox to root.
      args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
    }),
  );
  return starting;
}

export interface View {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Breaches of the Content-Security-Policy, uncaught errors, and errors written to the console. */
  readonly faults: string[];
}

export interface ViewOptions {
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  readonly cookie?: string;
  /** A screen for fingers. */
  readonly touch?: boolean;
}

/**
 * A browser of one person. Every fault is kept: `noFaults` fails on any. On a shared hub the page may be one of an
 * earlier view, without all that this view left. `context.close` ends the use.
 */
export async function view(url: string, { cookie, ...options }: ViewOptions = {}): Promise<View> {
  const key = JSON.stringify([url, options.theme, options.width, options.height, options.touch]);
  let slot = takeIdlePage(key);
  if (!slot) {
    slot = await freshPage(url, options);
    keepAtClose(key, slot, url);
  }
  const { page, context } = slot;
  const faults: string[] = [];
  slot.faults = faults;
  if (cookie) {
    const [name = '', value = ''] = cookie.split('=');
    await context.addCookies([{ name, value, url, httpOnly: true }]);
  }
  return { page, context, faults };
}

async function freshPage(url: string, options: ViewOptions): Promise<PageSlot> {
  const context = await (await browser()).newContext({
    viewport: { width: options.width ?? 1440, height: options.height ?? 900 },
    colorScheme: options.theme ?? 'light',
    baseURL: url,
    timezoneId: 'Europe/Berlin',
    reducedMotion: 'reduce',
    hasTouch: options.touch ?? false,
  });
  context.setDefaultTimeout(20_000);
  await context.exposeFunction('reportFault', (text: string) => slot.faults.push(text));
  await context.addInitScript(
    `addEventListener('securitypolicyviolation', (e) => reportFault('policy: ' + e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sourceFile));`,
  );
  const page = await context.newPage();
  const slot: PageSlot = { context, page, faults: [] };
  page.on('pageerror', (error) => slot.faults.push(`error: ${error.message}`));
  page.on('console', (message) => {
    // The browser itself writes a line for every answer that is no success; those are part of the tests.
    if (message.type() === 'error' && !/Failed to load resource|WebSocket connection/.test(message.text())) {
      slot.faults.push(`console: ${message.text()}`);
    }
  });
  return slot;
}

export const noFaults = ({ faults }: View): void => expect(faults).toEqual([]);

const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly help: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
}

const everyRule = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** The rules that look at colours; all that the others look at is the same in both themes. */
const colourRules = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] };

/** Colours of the dark theme have a test of their own (`tokens`); what axe sees of them is for the night. */
const themes = isNightly ? ['light', 'dark'] : ['light'];

/** Files of tests with an audit in this run. */
const auditedFiles = new Set<string>();
const dialog = '[role=dialog]';

/**
 * Fails on what axe-core finds in a page at this moment. An audit takes as long as a page: at night each call is one,
 * per commit the first call of each file with an open dialog audits the dialog. keyboard.test.ts audits every page.
 * @param how `twice`: by every rule in the second theme too, not only by those that look at colours
 */
export async function accessible(page: Page, how: 'once' | 'twice' = 'once'): Promise<void> {
  if (isNightly) return auditPage(page, how);
  const file = expect.getState().testPath ?? '';
  if (auditedFiles.has(file) || (await page.locator(dialog).count()) === 0) return;
  auditedFiles.add(file);
  await auditPage(page, how, dialog);
}

/**
 * Fails on what axe-core finds: per commit in one theme, at night in both. The script is not the page's: it is run
 * through the debugger, which no policy holds.
 * @param part a selector. Default: the whole page
 */
export async function auditPage(
  page: Page,
  how: 'once' | 'twice' = 'once',
  part: string | null = null,
): Promise<void> {
  // For each document once: the script takes half as long as its run.
  if (!(await page.evaluate(`'axe' in globalThis`))) await page.evaluate(axe);
  // A colour on its way to that of the other theme has the contrast of neither.
  await page.evaluate(`(() => {
    if (globalThis.still) return;
    globalThis.still = new CSSStyleSheet();
    still.replaceSync('*, ::before, ::after { transition: none !important; animation: none !important }');
    document.adoptedStyleSheets.push(still);
  })()`);
  try {
    await audit(page, how, part);
  } finally {
    await page.evaluate(`(() => {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== globalThis.still);
      delete globalThis.still;
    })()`);
  }
}

async function audit(page: Page, how: 'once' | 'twice', part: string | null): Promise<void> {
  for (const theme of themes) {
    await page.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
    // Colours change with the next frame.
    await page.evaluate(`(async () => {
      const frame = () => new Promise((done) => requestAnimationFrame(done));
      await frame();
      await frame();
    })()`);
    const runOnly = theme === 'light' || how === 'twice' ? everyRule : colourRules;
    const options = JSON.stringify({ runOnly, resultTypes: ['violations'], preload: false });
    const where = part === null ? 'document' : JSON.stringify(part);
    const result = (await page.evaluate(`axe.run(${where}, ${options})`)) as AxeResult;
    const found = result.violations.map(
      ({ id, help, nodes }) =>
        `${theme} ${id}: ${help}\n${nodes.map((node) => `  ${node.html.slice(0, 200)}\n  ${node.failureSummary}`).join('\n')}`,
    );
    expect(found.join('\n')).toBe('');
  }
}

/** Leads to another page as a link of the console does: no code is loaded anew. @param path below /dashboard */
export const go = (page: Page, path: string): Promise<void> =>
  page.evaluate(`history.pushState({}, '', ${JSON.stringify(`/dashboard${path}`)})`);

/**
 * Counts presses of the mouse and taps from now on, in the document that is open: a reload would end the count.
 * @returns the number so far
 */
export async function countPresses(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(
    `globalThis.presses = 0; addEventListener('pointerdown', () => { presses += 1; }, true);`,
  );
  return () => page.evaluate('presses') as Promise<number>;
}

/** Presses "Reconnect now" if it is there: the page may have reconnected by itself. */
export const reconnect = (page: Page): Promise<void> =>
  page
    .getByRole('button', { name: 'Reconnect now' })
    .evaluateAll(([button]) => (button as { click(): void } | undefined)?.click());

/**
 * Puts a short text in the place of what an editor holds, until it stands there: a page that has just come back to the
 * front may lose what is typed.
 */
export async function write(editor: Locator, text: string): Promise<void> {
  const { keyboard } = editor.page();
  await expect
    .poll(async () => {
      await editor.focus();
      await keyboard.press('ControlOrMeta+a');
      await keyboard.press('Delete');
      await keyboard.insertText(text);
      return editor.textContent();
    })
    .toBe(text.replaceAll('\n', ''));
}

/** A hub that is set up, with its admin's cookie. @param port Default: a free one */
export async function startedHub(
  settings: { readonly [name: string]: string } = {},
  port = 0,
): Promise<{ readonly hub: HubProcess; readonly cookie: string }> {
  const hub = new HubProcess({ LOG_LEVEL: 'error', ...settings });
  hub.port = port;
  await hub.start();
  return { hub, cookie: await hub.admin() };
}

/** A call of an agent that waits for a person; returns its id. */
export async function ask(
  hub: HubProcess,
  key: string,
  body: { readonly [name: string]: unknown } = {},
  agent = 'agent-1',
): Promise<string> {
  const { status, body: approval } = await hub.call('POST', '/api/v1/approvals', {
    key,
    agent,
    body: {
      tool_name: 'deploy',
      tool_args: { command: 'npm run deploy' },
      message: 'Deploy to production?',
      ...body,
    },
  });
  if (status !== 201) throw new Error(`the approval was refused: ${JSON.stringify(approval)}`);
  return approval.id;
}
