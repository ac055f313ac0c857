// The program `reeve-agent`, run as people and workflows run it: what it prints, and its exit codes.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { itAtNight } from '../../../test/runs.ts';
import { readToolSettings } from '../src/cli/tools.ts';
import { callProgram, programArgs } from './program.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reeve-agent-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Calls the program in this process. */
const run = (args: readonly string[]) => callProgram(args, { cwd: folder });

/** Starts the program. */
async function start(args: readonly string[], input = '') {
  const child = spawn(process.execPath, [...programArgs(), ...args], { cwd: folder });
  const read = async (stream: AsyncIterable<Buffer>) => {
    let text = '';
    for await (const part of stream) text += part.toString();
    return text;
  };
  child.stdin.end(input);
  const code = new Promise<number | null>((done) => child.once('close', done));
  const [out, err] = await Promise.all([read(child.stdout), read(child.stderr)]);
  return { code: await code, out, err };
}
const write = (name: string, text: string) => writeFile(join(folder, name), text);

const bundle = (contracts: string) =>
  `apiVersion: service/v1\nkind: ContractBundle\nmetadata: {name: payments}\ndefaults: {mode: enforce}\ncontracts:\n${contracts}`;
const never = `  - id: never-over-10000
    type: pre
    tool: pay
    when: { args.amount: { gt: 10000 } }
    then: { effect: deny, message: "{args.amount} is too much" }
`;
const team = `  - id: team
    type: pre
    tool: pay
    when: { any: [{ principal.role: { equals: intern } }, { args.amount: { gt: 1000 } }] }
    then: { effect: approve, message: "pay {args.amount}?" }
`;

describe('--tools', () => {
  const box = '  - { id: box, type: sandbox, tools: [search], within: [/srv], message: outside }\n';
  const limits =
    '  - { id: few, type: session, limits: { max_calls_per_tool: { serch: 3 } }, then: { effect: deny, message: no } }\n';
  const cases = `contracts: box.yaml
cases:
  - name: reads elsewhere
    call: { tool: search, args: { where: "cat notes/a" }, cwd: /srv }
    expect: { verdict: allow }
  - name: climbs
    call: { tool: search, args: { where: "cat ../etc/x" }, cwd: /srv }
    expect: { verdict: deny, contract: box }
`;

  itAtNight('says what arguments hold, for the cases of a sandbox', async () => {
    await write('box.yaml', bundle(box));
    await write('box.cases.yaml', cases);
    await write('tools.yaml', 'search: { where: command }\n');
    await write('tools.json', '{"sear*": {"where": "command"}}');
    const without = await run(['test', 'box.cases.yaml']);
    expect(without).toMatchObject({ code: 1, out: expect.stringContaining('FAIL climbs') });
    for (const tools of ['tools.yaml', 'tools.json']) {
      expect(await run(['test', '--tools', tools, 'box.cases.yaml'])).toMatchObject({
        code: 0,
        out: expect.stringContaining('2 of 2 cases'),
      });
    }
  });

  it('has profiles of programs, of which the first wrong field is named', async () => {
    const ships = '  - {id: box, type: sandbox, tool: "*", allows: {commands: [ship]}, message: out}\n';
    await write('ship.yaml', bundle(ships));
    await write(
      'ship.cases.yaml',
      'contracts: ship.yaml\ncases:\n  - {call: {tool: t, args: {command: ship --now}}, expect: {verdict: deny}}\n',
    );
    await write('profiles.yaml', 'command_profiles: { ship: { options: { flag: --dry-run } } }\n');
    await write('wrong.yaml', 'command_profiles: { ship: { operands: [file] } }\n');
    expect(await run(['test', 'ship.cases.yaml'])).toMatchObject({ code: 1 });
    expect(await run(['test', '--tools', 'profiles.yaml', 'ship.cases.yaml'])).toMatchObject({ code: 0 });
    expect(await run(['test', '--tools', 'wrong.yaml', 'ship.cases.yaml'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('ship.operands'),
    });
  });

  it('knows the tools that it names, in check', async () => {
    await write('few.yaml', bundle(limits));
    await write('search.yaml', 'search: {}\n');
    await write('serch.yaml', 'serch: { where: path }\n');
    expect(await run(['check', 'few.yaml'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('warning'),
    });
    expect(await run(['check', '--tools', 'search.yaml', 'few.yaml'])).toMatchObject({
      code: 1,
      out: expect.stringContaining('Did you mean search?'),
    });
    expect(await run(['check', '--tools', 'serch.yaml', 'few.yaml'])).toMatchObject({ code: 0, out: '' });
  });

  it.each([
    [
      'search: { where: program }\n',
      'wrong.yaml:1:11: search: where: expected path, url, command, content, cwd',
    ],
    ['search: path\n', 'wrong.yaml:1:1: search: expected a mapping from arguments'],
    ['- search\n', 'expected a mapping of tools'],
    ['search: {', 'wrong.yaml: '],
  ])('names the place of what is wrong in the file: %j', async (text, message) => {
    await write('wrong.yaml', text);
    await write('box.yaml', bundle(box));
    for (const command of ['check', 'test']) {
      expect(await run([command, '--tools', 'wrong.yaml', 'box.yaml'])).toMatchObject({
        code: 2,
        err: expect.stringContaining(message),
      });
    }
    expect(await run(['check', '--tools', 'absent.yaml', 'box.yaml'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('absent.yaml does not exist'),
    });
  });
});

describe('reeve-agent', () => {
  it('prints its version', async () => {
    const { version } = JSON.parse(await readFile(new URL('../package.json', import.meta.url), 'utf8'));
    expect(await start(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' });
  });

  it('says what it can do, and exits with 2 for a command or an option that it does not know', async () => {
    expect(await start(['--help'])).toMatchObject({ code: 0, out: expect.stringContaining('check') });
    expect(await start(['chekc'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('unknown command "chekc"'),
    });
    expect(await start(['check', '--nope', 'a'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--nope'),
    });
    expect(await start(['check'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('at least one file'),
    });
    expect((await start(['test', '--help'])).out).toContain('expect:');
  });
});

describe('reeve-agent check', () => {
  it('is content with a good file, also from standard input', async () => {
    await write('good.yaml', bundle(never));
    expect(await run(['check', 'good.yaml'])).toEqual({
      code: 0,
      out: '',
      err: '1 file, 0 errors, 0 warnings, 0 notices\n',
    });
    expect((await start(['check', '-'], bundle(never))).code).toBe(0);
  });

  it('names line, column and what was meant', async () => {
    await write('bad.yaml', bundle(never.replace('args.amount: { gt', 'arg.amount: { gt')));
    const { code, out } = await run(['check', 'bad.yaml']);
    expect(code).toBe(1);
    expect(out).toBe(
      "bad.yaml:9:13: error: contract 'never-over-10000': arg does not exist, so this selector is always missing. Did you mean args?\n",
    );
  });

  it('reports every problem of every file, and files that cannot be read', async () => {
    await write('broken.yaml', bundle(never.replace('deny', 'dney').replace('pre', 'per')));
    const { code, out } = await run(['check', '--json', 'broken.yaml', 'absent.yaml']);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      errors: 2,
      files: [
        { file: 'broken.yaml', findings: [{ line: 7, severity: 'error' }] },
        { file: 'absent.yaml', findings: [{ message: 'does not exist' }] },
      ],
    });
  });

  it('names what was probably meant where a file does not compile, in the order of the file', async () => {
    await write(
      'typos.yaml',
      bundle(never.replace('{ gt: 10000 }', '{ qt: 10000 }').replace('effect: deny', 'efect: deny')),
    );
    const { code, out } = await run(['check', 'typos.yaml']);
    expect(code).toBe(1);
    expect(out.match(/Did you mean \w+\?/g)).toEqual(['Did you mean gt?', 'Did you mean effect?']);
    const places = out.split('\n').flatMap((line) => (/^typos\.yaml:(\d+):(\d+)/.exec(line) ? [line] : []));
    const numbers = places.map((line) => line.split(':').slice(1, 3).map(Number));
    expect(numbers).toEqual(
      [...numbers].sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0) || (a[1] ?? 0) - (b[1] ?? 0)),
    );
  });

  it('writes a line for each problem, whatever its name and its keys contain', async () => {
    await write('esc\u001b[1A.yaml', bundle(`${never}    "x\\n::error::no\\e[2K": 1\n`));
    const { code, out } = await run(['check', 'esc\u001b[1A.yaml']);
    expect(code).toBe(1);
    expect(out).toMatch(/^esc\\u\{1b\}\[1A\.yaml:\d+:\d+: error: .*x\\u\{a\}::error::no\\u\{1b\}\[2K/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they must not be there
    expect(out).not.toMatch(/[\x00-\x09\x0b-\x1f]/);
    expect(out).not.toMatch(/^::/m);
  });

  it('writes annotations for a workflow', async () => {
    await write('bad, 1.yaml', bundle(never.replace('args.amount: { gt', 'arg.amount: { gt')));
    const { out } = await run(['check', '--format', 'github', 'bad, 1.yaml']);
    expect(out).toMatch(
      /^::error file=bad%2C 1\.yaml,line=9,col=13::contract 'never-over-10000': arg does not exist/,
    );
  });

  it('passes a good sandbox when it is strict, with a notice where compatibility is asked for, and accepted warnings', async () => {
    const box = '  - { id: box, type: sandbox, tool: "*", within: [/w], message: m }\n';
    const limit =
      '  - { id: few, type: session, limits: { max_calls_per_tool: { "pay_*": 3 } }, then: { effect: deny, message: m } }\n';
    await write('box.yaml', bundle(never + box));
    expect(await run(['check', '--strict', 'box.yaml'])).toEqual({
      code: 0,
      out: '',
      err: '1 file, 0 errors, 0 warnings, 0 notices\n',
    });
    const { code, out, err } = await run(['check', '--strict', '--compatibility', 'box.yaml']);
    expect(code).toBe(0);
    expect(out).toMatch(/notice: contract 'box': Released clients judge fewer arguments/);
    expect(err).toBe('1 file, 0 errors, 0 warnings, 1 notice\n');
    await write('limit.yaml', bundle(never + limit));
    expect((await run(['check', '--strict', 'limit.yaml'])).code).toBe(1);
    const { code: accepted, out: json } = await run([
      ...['check', '--strict', '--json', '--accept', 'glob-key', 'limit.yaml'],
    ]);
    expect(accepted).toBe(0);
    expect(JSON.parse(json)).toMatchObject({ ok: true, warnings: 0, notices: 1 });
    await write('bad.yaml', bundle(never.replace('args.amount: { gt', 'arg.amount: { gt')));
    expect((await run(['check', '--accept', 'unknown-root', 'bad.yaml'])).code).toBe(1);
    const wrong = await run(['check', '--accept', 'globs', 'bad.yaml']);
    expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('glob-key') });
  });

  it('lets warnings pass unless it is strict', async () => {
    await write('warned.yaml', bundle(never.replace('{args.amount}', '{args.amuont}')));
    expect(await run(['check', 'warned.yaml'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('Did you mean {args.amount}?'),
    });
    expect((await run(['check', '--strict', 'warned.yaml'])).code).toBe(1);
  });

  itAtNight('knows what agents register, by options and by the settings of a hub', async () => {
    await write(
      'ticket.yaml',
      bundle(never.replace('args.amount: { gt: 10000 }', 'ticket.open: { is_set: true }')),
    );
    expect((await run(['check', 'ticket.yaml'])).code).toBe(1);
    const unknown = await run(['check', '--operators', 'is_set', 'ticket.yaml']);
    expect(unknown).toMatchObject({
      code: 1,
      out: expect.stringContaining('list it under custom_selectors'),
    });
    expect((await run(['check', '--operators', 'is_set', '--selectors', 'ticket', 'ticket.yaml'])).code).toBe(
      0,
    );
    const words = 'custom_selectors: [ticket]\ncustom_operators: [is_set]\n';
    for (const settings of [
      words,
      `pay: { to: url }\n${words}`,
      `tool_arguments: { pay: { to: url } }\n${words}`,
    ]) {
      await write('tools.yaml', settings);
      expect((await run(['check', '--strict', '--tools', 'tools.yaml', 'ticket.yaml'])).code).toBe(0);
    }
    await write('tools.yaml', 'custom_selectors: ticket\n');
    expect(await run(['check', '--tools', 'tools.yaml', 'ticket.yaml'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('tools.yaml:1:1: custom_selectors: expected a list of names'),
    });
    await write('tools.yaml', 'tool_arguments: { pay: { to: lru } }\n');
    expect((await run(['check', '--tools', 'tools.yaml', 'ticket.yaml'])).err).toContain(
      'tool_arguments: pay: to: expected',
    );
  });
});

describe('a file of --tools', () => {
  const read = async (text: string) => {
    await write('settings.yaml', text);
    return readToolSettings(join(folder, 'settings.yaml'));
  };

  it('may contain the least isolation of programs, and a tool of that name', async () => {
    expect(await readToolSettings(undefined)).toMatchObject({ isolation: 'none' });
    expect(await read('custom_selectors: [geo]\n')).toMatchObject({ isolation: 'none' });
    expect(await read('pay: { to: url }\nisolation: required\n')).toMatchObject({
      toolArguments: { pay: { to: 'url' } },
      isolation: 'required',
    });
    expect(await read('isolation: { image: path }\n')).toMatchObject({
      toolArguments: { isolation: { image: 'path' } },
      isolation: 'none',
    });
    for (const wrong of ['container', 'true', '[required]', 'null']) {
      await expect(read(`isolation: ${wrong}\n`)).rejects.toThrow(
        'settings.yaml:1:1: isolation: expected none, preferred, required',
      );
    }
  });

  it("may be the answer with a hub's settings", async () => {
    const words = { custom_selectors: ['geo'], custom_operators: [], command_profiles: {} };
    const written = { updated_at: '2026-01-01T00:00:00.000Z', updated_by: 'ada@example.com' };
    for (const at of [written, { updated_at: null, updated_by: null }]) {
      const settings = { tool_arguments: { pay: { to: 'url' } }, ...words, isolation: 'preferred', ...at };
      expect(await read(JSON.stringify(settings))).toEqual({
        toolArguments: { pay: { to: 'url' } },
        commandProfiles: {},
        selectors: ['geo'],
        operators: [],
        isolation: 'preferred',
      });
    }
  });
});

describe('reeve-agent test', () => {
  const cases = `contracts: payments.yaml
defaults: { principal: { role: clerk } }
cases:
  - name: small ones pass
    call: { tool: pay, args: { amount: 5 } }
    expect: { verdict: allow, contract: null }
  - name: large ones are refused
    call: { tool: pay, args: { amount: 20000 } }
    expect: { verdict: deny, contract: never-over-10000, message: "20000 is" }
`;

  it('runs the cases and says what none of them reaches', async () => {
    await write('payments.yaml', bundle(never + team));
    await write('cases.yaml', cases);
    expect(await run(['test', 'cases.yaml'])).toEqual({
      code: 0,
      err: '',
      out: `ok   small ones pass
ok   large ones are refused
2 of 2 cases passed; 2 of 2 contracts fire in a case
  team: true in no case: principal.role equals "intern"
`,
    });
  });

  it('fails with what was expected and where', async () => {
    await write('payments.yaml', bundle(never + team));
    await write('wrong.yaml', cases.replace('verdict: allow, contract: null', 'verdict: deny'));
    const { code, out } = await run(['test', 'wrong.yaml']);
    expect(code).toBe(1);
    expect(out).toContain('FAIL small ones pass (wrong.yaml:4)\n       expected denied, got allowed\n');
    const annotated = await run(['test', '--format', 'github', 'wrong.yaml']);
    expect(annotated).toEqual({
      code: 1,
      out: `::error file=wrong.yaml,line=4,col=1::small ones pass: expected denied, got allowed
::notice file=wrong.yaml,line=1,col=1::contract 'team': true in no case: principal.role equals "intern"
`,
      err: '1 of 2 cases passed; 2 of 2 contracts fire in a case\n',
    });
    await write('odd.yaml', cases.replace('expect: { verdict: allow', 'expects: { verdict: allow'));
    const unusable = await run(['test', '--format', 'github', 'odd.yaml']);
    expect(unusable.code).toBe(2);
    expect(unusable.out).toMatch(/^::error file=odd\.yaml,line=1,col=1::.*Did you mean expect\?/);
  });

  it('names the condition that met a list', async () => {
    const tags = never.replace('args.amount: { gt: 10000 }', 'args.tags: { contains: secret }');
    await write('payments.yaml', bundle(tags));
    await write(
      'lists.yaml',
      `contracts: payments.yaml
cases:
  - { name: lists, call: { tool: pay, args: { tags: [a, b] } }, expect: { verdict: allow } }
  - { name: texts, call: { tool: pay, args: { tags: secret } }, expect: { verdict: deny } }
`,
    );
    const fault =
      "contract 'never-over-10000' fires because contains does not accept a list: args.tags is one. Operators do not enter lists; compare lists with equals or in";
    const { code, out } = await run(['test', 'lists.yaml']);
    expect(code).toBe(1);
    expect(out).toContain(`       expected allowed, got denied\n       ${fault}\nok   texts\n`);
    expect((await run(['test', '--format', 'github', 'lists.yaml'])).out).toContain(
      '::warning file=lists.yaml,line=3,col=1::lists: contract',
    );
    const { files } = JSON.parse((await run(['test', '--json', 'lists.yaml'])).out);
    expect(files[0].results.map(({ faults }: { faults: string[] }) => faults)).toEqual([[fault], []]);
  });

  it('counts sessions and results, takes the words of rulesets, and can demand coverage', async () => {
    await write(
      'session.yaml',
      bundle(`  - { id: few, type: session, limits: { max_calls_per_tool: { pay: 2 } }, then: { effect: deny, message: few } }
  - { id: hide, type: post, tool: pay, when: { output.text: { matches: "\\\\d{4}" } }, then: { effect: redact, message: hidden } }
  - { id: idle, type: pre, tool: other, when: { args.x: { equals: 1 } }, then: { effect: deny, message: m } }
`),
    );
    await write(
      'session.cases.yaml',
      `contracts: [session.yaml]
cases:
  - { call: { tool: pay }, session: { calls: 2, calls_of_tool: 2 }, expect: { verdict: block, contract: few } }
  - { call: { tool: pay }, output: "pin 1234", expect: { verdict: warn, contract: hide, output: "pin [REDACTED]" } }
`,
    );
    const { code, out } = await run(['test', '--json', 'session.cases.yaml']);
    expect(code).toBe(0);
    expect(JSON.parse(out).files[0].coverage).toMatchObject({ fired: 2, total: 3 });
    expect((await run(['test', '--require-coverage', 'session.cases.yaml'])).code).toBe(1);
  });

  it('counts a session contract as fired in the cases that its own limits refuse', async () => {
    const limit = (id: string, limits: string) =>
      `  - { id: ${id}, type: session, limits: { ${limits} }, then: { effect: deny, message: no } }\n`;
    await write(
      'limits.yaml',
      bundle(
        limit('attempts', 'max_attempts: 50') +
          limit('payments', 'max_calls_per_tool: { pay: 2 }') +
          limit('calls', 'max_tool_calls: 100'),
      ),
    );
    await write(
      'limits.cases.yaml',
      `contracts: limits.yaml
cases:
  - { call: { tool: pay }, session: { calls: 2, calls_of_tool: 2 }, expect: { verdict: deny, contract: payments } }
  - { call: { tool: pay }, session: { attempts: 60 }, expect: { verdict: deny, contract: attempts } }
`,
    );
    const { code, out } = await run(['test', '--require-coverage', 'limits.cases.yaml']);
    expect([code, out.split('\n').slice(2)]).toEqual([
      1,
      ['2 of 2 cases passed; 2 of 3 contracts fire in a case', '  calls: fires in no case', ''],
    ]);
  });

  it('redacts a result as an agent does', async () => {
    await write(
      'secret.yaml',
      bundle(
        '  - { id: hide, type: post, tool: read, when: { output.text: { contains: secret } }, then: { effect: redact, message: hidden } }\n',
      ),
    );
    await write(
      'secret.cases.yaml',
      'contracts: secret.yaml\ncases:\n  - { call: { tool: read }, output: "api_key=abc123def secret", expect: { verdict: warn, output: "api_key=[REDACTED] secret" } }\n',
    );
    expect(await run(['test', 'secret.cases.yaml'])).toMatchObject({ code: 0 });
  });

  it('takes operators that agents register, whose contracts fire with a note', async () => {
    await write(
      'network.yaml',
      bundle(`${never}  - id: inside
    type: pre
    tool: connect
    when: { args.ip: { in_network: "10.0.0.0/8" } }
    then: { effect: deny, message: "{args.ip} is inside" }
`),
    );
    await write('network.tools.yaml', 'custom_operators: [in_network]\n');
    await write(
      'network.cases.yaml',
      `contracts: network.yaml
cases:
  - { name: large, call: { tool: pay, args: { amount: 20000 } }, expect: { verdict: deny, contract: never-over-10000 } }
  - { name: host, call: { tool: connect, args: { ip: 10.1.1.1 } }, expect: { verdict: deny, contract: inside } }
`,
    );
    expect((await run(['test', 'network.cases.yaml'])).code).toBe(2);
    expect(await run(['test', '--tools', 'network.tools.yaml', 'network.cases.yaml'])).toMatchObject({
      code: 0,
      out: `ok   large
ok   host
       contract 'inside' fires because the custom operator in_network cannot run here
2 of 2 cases passed; 1 of 2 contracts fire in a case
  inside: fires in no case
  inside: true in no case: args.ip in_network "10.0.0.0/8"
`,
    });
  });

  it('looks past an operator of agents whose value is missing', async () => {
    await write(
      'either.yaml',
      bundle(`  - id: either
    type: pre
    tool: connect
    when: { any: [{ args.ip: { in_network: "10.0.0.0/8" } }, { args.host: { equals: h } }, { args.amount: { gt: 5 } }] }
    then: { effect: deny, message: no }
`),
    );
    await write('either.tools.yaml', 'custom_operators: [in_network]\n');
    await write(
      'either.cases.yaml',
      `contracts: either.yaml
cases:
  - { name: host, call: { tool: connect, args: { host: h } }, expect: { verdict: deny } }
  - { name: text, call: { tool: connect, args: { amount: x } }, expect: { verdict: deny } }
`,
    );
    expect(await run(['test', '--tools', 'either.tools.yaml', 'either.cases.yaml'])).toMatchObject({
      code: 0,
      out: `ok   host
ok   text
       contract 'either' fires because gt does not accept a text: args.amount is one
2 of 2 cases passed; 1 of 1 contracts fire in a case
  either: true in no case: args.ip in_network "10.0.0.0/8"
  either: true in no case: args.amount gt 5
`,
    });
  });

  it.each([
    [
      'contracts: nowhere.yaml\ncases: [{call: {tool: a}, expect: {verdict: allow}}]',
      'nowhere.yaml does not exist',
    ],
    ['cases: []', 'contracts: expected the path of a bundle'],
    [
      'contracts: good.yaml\ncases: [{call: {tool: a}, expect: {verdict: maybe}}]',
      'cases.0.expect.verdict: expected allow',
    ],
    ['contracts: good.yaml\ncases: [{cal: {tool: a}}]', 'unexpected key'],
    ['contracts: [', 'Invalid YAML'],
  ])('exits with 2 for a file that cannot be used: %s', async (text, message) => {
    await write('good.yaml', bundle(never));
    await write('unusable.yaml', text);
    expect(await run(['test', 'unusable.yaml'])).toMatchObject({
      code: 2,
      err: expect.stringContaining(message),
    });
  });
});
