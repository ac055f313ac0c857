// Bad input as YAML, on every route that takes some, as JSON text and as plain YAML, against the real process: a clear
// 4xx, nothing stored, the process stays up. One table, so that it can be read.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isNightly } from '../runs.ts';
import { SharedHub } from './shared-hub.ts';

const hub = new SharedHub();
let cookie = '';
beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
});
afterAll(() => hub.remove());

const head = 'metadata: {name: bad}\n';
const contract = (i: number | string) =>
  `  - {id: c${i}, type: pre, tool: x, when: {args.a: {exists: true}}, then: {effect: deny, message: m}}\n`;
const levels = (n: number, line: (i: number) => string) =>
  Array.from({ length: n }, (_, i) => line(i)).join('');
const deep = (n: number) => `${head}contracts: ${'['.repeat(n)}${']'.repeat(n)}\n`;

const cases: { readonly [what: string]: string | Uint8Array } = {
  'an alias bomb (9 levels of 9)': `${head}a0: &a0 [x]\n${levels(9, (i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join(', ')}]\n`)}contracts: *a9\n`,
  'a merge-key bomb': `${head}m0: &m0 {k: v}\n${levels(9, (i) => `m${i + 1}: &m${i + 1}\n${levels(9, (n) => `  k${i}_${n}: {<<: *m${i}}\n`)}`)}contracts: []\n`,
  'an alias to itself': `${head}a: &a [*a]\ncontracts: *a\n`,
  'nesting of 5,000 in flow style': deep(5_000),
  'nesting of 5,000 in block style': `${head}contracts:\n${levels(5_000, (i) => `${' '.repeat(i + 1)}a:\n`)}`,
  '11 documents': Array(11).fill(`${head}contracts: []\n`).join('---\n'),
  '101 contracts': `${head}contracts:\n${levels(101, contract)}`,
  'duplicate keys': `${head}contracts: []\ncontracts: []\n`,
  'duplicate keys, deep': `${head}contracts:\n  - {id: a, id: b, type: pre}\n`,
  '!!js/function': `${head}contracts: !!js/function 'function () { process.exit() }'\n`,
  '!!python/object': `${head}contracts: !!python/object/apply:os.system ["id"]\n`,
  __proto__: `${head}__proto__: {polluted: true}\ncontracts: []\n`,
  'constructor, deep': `${head}contracts:\n  - {id: a, type: pre, tool: x, when: {constructor: {prototype: {polluted: 1}}}, then: {effect: deny, message: m}}\n`,
  'a byte order mark': `\ufeff${head}contracts: []\n`,
  'UTF-16 with its mark': Buffer.concat([
    Buffer.from([0xff, 0xfe]),
    Buffer.from(`${head}contracts: []\n`, 'utf16le'),
  ]),
  'UTF-16 without a mark': Buffer.from(`${head}contracts: []\n`, 'utf16le'),
  'UTF-32': Buffer.from([0, 0, 0xfe, 0xff, 0, 0, 0, 0x61]),
  'bytes that are no UTF-8': Buffer.from([0x61, 0x3a, 0x20, 0xff, 0xfe]),
  NUL: `${head}contracts: ["\u0000"]\n`,
  'an unclosed quote': `${head}contracts: ["`,
  'a list, not a mapping': '- a\n- b\n',
  'a number': '42\n',
  nothing: '',
  'comments alone': '# nothing\n',
  'an unknown anchor': `${head}contracts: *nobody\n`,
  'a tab for indentation': `${head}contracts:\n\t- a\n`,
  'a %YAML 9.9 directive': `%YAML 9.9\n---\n${head}contracts: {}\n`,
  'a name with a slash': 'metadata: {name: ../../etc}\ncontracts: []\n',
  'a name that is an operator': 'metadata: {name: {$gt: ""}}\ncontracts: []\n',
  '1,048,577 characters': `${head}contracts: []\n#${'x'.repeat(1_048_577 - head.length - 15)}`,
  '5 MiB + 1': `${head}contracts: []\n#${'x'.repeat(5 * 1024 * 1024 + 1)}`,
};

interface Target {
  readonly path: string;
  readonly body: (yaml: string) => object;
  readonly plain: boolean;
  /** Cases that it may take: their bound is another route's. */
  readonly takes?: readonly string[];
}
const targets: { readonly [name: string]: Target } = {
  upload: {
    path: '/api/v1/bundles',
    body: (yaml_content) => ({ yaml_content }),
    plain: true,
    takes: ['101 contracts'],
  },
  import: { path: '/api/v1/contracts/import', body: (yaml_content) => ({ yaml_content }), plain: true },
  evaluate: {
    path: '/api/v1/bundles/evaluate',
    body: (yaml_content) => ({ yaml_content, tool_name: 'x', tool_args: {} }),
    plain: false,
  },
};

/** All that a refused request could have left. */
async function stored(): Promise<unknown> {
  const paths = ['/bundles', '/contracts', '/compositions', '/deployments'];
  return Promise.all(paths.map(async (path) => (await hub.call('GET', `/api/v1${path}`, { cookie })).body));
}

describe.each(Object.keys(targets))('%s', (name) => {
  const target = targets[name];
  if (!target) throw new Error(name);
  /** Per commit each case goes to one of the routes. */
  const isOfRun = (row: number): boolean =>
    isNightly || row % Object.keys(targets).length === Object.keys(targets).indexOf(name);

  it.each(Object.keys(cases).filter((what, row) => isOfRun(row) && !target.takes?.includes(what)))(
    'refuses %s',
    async (what) => {
      const yaml = cases[what] ?? '';
      const before = await stored();
      const answers = [];
      // As JSON, what is no UTF-8 arrives as the text that a careless client makes of it.
      const text = typeof yaml === 'string' ? yaml : Buffer.from(yaml).toString('latin1');
      answers.push(await hub.call('POST', target.path, { cookie, body: target.body(text) }));
      if (target.plain) {
        const response = await fetch(hub.url + target.path, {
          method: 'POST',
          headers: { Cookie: cookie, 'X-Requested-With': 'test', 'Content-Type': 'application/x-yaml' },
          body: yaml,
        });
        answers.push({ status: response.status, body: await response.json() });
      }
      for (const { status, body } of answers) {
        expect({ status, body }).toEqual({
          status: expect.toSatisfy((s: number) => s >= 400 && s < 500),
          body: { detail: expect.anything(), code: expect.any(String) },
        });
        expect(JSON.stringify(body).length).toBeLessThan(20_000);
      }
      expect(await stored()).toEqual(before);
      expect((await hub.call('GET', '/api/v1/health')).status).toBe(200);
    },
  );
});

it('101 contracts may be uploaded: the bound of 100 is of the playground and the import', async () => {
  const yaml_content = String(cases['101 contracts']).replace('bad', 'large');
  expect(await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content } })).toMatchObject({
    status: 201,
  });
});
