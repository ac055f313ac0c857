// Fingerprints of tools and the bounds of a listing. The digests of the vectors come from another implementation of
// canonical JSON.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readStrictJson } from '../../src/rules/strict-json.ts';
import {
  fingerprintOf,
  maxDefinitionBytes,
  maxTools,
  type PinnedTool,
  readDefinition,
  readToolList,
} from '../../src/rules/tools/definition.ts';
import { type PinDocument, pinText, readPinDocument, verdictOf } from '../../src/rules/tools/pins.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const read = (json: string): unknown => readStrictJson(json, { numbers: 'written' });
const fingerprints = (tools: readonly PinnedTool[]) =>
  tools.map(({ definition }) => fingerprintOf(definition, sha256));

const readFile =
  '{"inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"name":"read_file","description":"Read a file"}';
const pay =
  '{"name":"pay","title":"Pay \\u20ac","annotations":{"destructiveHint":true},"inputSchema":{"type":"number","minimum":5e-1,"maximum":1.0e3}}';

describe('fingerprints', () => {
  it('are those of the vectors, whatever the order of members and the form of numbers', () => {
    const { tools } = readToolList([read(readFile), read(pay)], 'Use\nread_file first.\u202e');
    expect(tools.map(({ name }) => name)).toEqual(['(instructions)', 'read_file', 'pay']);
    expect(fingerprints(tools)).toEqual([
      'sha256:fe88575a05ba3bcfd59e983242e4210701176bcc93cd8fdc0831ddf02937c091',
      'sha256:9dd85ebc4622a086d250c40ae90991ef91f212991ce974e5e8c6539a5caf6704',
      'sha256:40fe354a7986d8449a186265dc76bbf96e1b8d3fa05caab8a4791909e3f69392',
    ]);
  });

  it('leave out icons, _meta, execution and unknown members, and nothing else', () => {
    const base = {
      name: 'a',
      title: 't',
      description: 'd',
      inputSchema: {},
      outputSchema: {},
      annotations: {},
    };
    const of = (tool: object) => fingerprints(readToolList([tool]).tools)[0];
    expect(of({ ...base, icons: [1], _meta: { a: 1 }, execution: {}, other: 1 })).toBe(of(base));
    for (const member of ['title', 'description', 'inputSchema', 'outputSchema', 'annotations']) {
      expect(of({ ...base, [member]: 'changed' }), member).not.toBe(of(base));
    }
    const { title: _title, ...untitled } = base;
    expect(of({ ...untitled, title: null })).not.toBe(of(untitled));
  });
});

describe('a listing', () => {
  it('refuses tools of one name, also where the names differ only in case', () => {
    const { tools, refused } = readToolList([
      { name: 'pay' },
      { name: 'Pay' },
      { name: 'list' },
      { name: 'ſ' },
      { name: 'S' },
    ]);
    expect(tools.map(({ name }) => name)).toEqual(['list']);
    expect(refused.map(({ name, problem }) => [name, problem])).toEqual([
      ['pay', 'duplicate_name'],
      ['Pay', 'duplicate_name'],
      ['ſ', 'duplicate_name'],
      ['S', 'duplicate_name'],
    ]);
  });

  it('refuses what is too large, too deep, unreadable, nameless or reserved, and keeps the rest', () => {
    const deep = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
    const { tools, refused } = readToolList([
      { name: 'large', description: 'x'.repeat(maxDefinitionBytes) },
      { name: 'deep', inputSchema: deep(64) },
      { name: 'fits', inputSchema: deep(63) },
      { name: 'surrogate', description: '\ud800' },
      read('{"name":"infinite","inputSchema":{"maximum":1e400}}'),
      { name: 'n'.repeat(257) },
      { name: '' },
      { name: '(instructions)' },
      { title: 'nameless' },
      'no tool',
    ]);
    expect(tools.map(({ name }) => name)).toEqual(['fits']);
    expect(new Map(refused.map(({ name, problem }) => [name, problem]))).toEqual(
      new Map([
        ['large', 'too_large'],
        ['deep', 'too_deep'],
        ['surrogate', 'unreadable'],
        ['infinite', 'unreadable'],
        ['n'.repeat(256), 'unusable_name'],
        ['', 'unusable_name'],
        ['(instructions)', 'unusable_name'],
      ]),
    );
  });

  it('ends at 2,000 tools', () => {
    const many = Array.from({ length: maxTools + 3 }, (_, i) => ({ name: `tool_${i}` }));
    const { tools, refused } = readToolList(many);
    expect(tools).toHaveLength(maxTools);
    expect(refused).toEqual([{ name: `tool_${maxTools}`, problem: 'too_many_tools' }]);
  });
});

describe('a definition from somebody else', () => {
  it('is canonical, its own tool, and has the members of a fingerprint alone', () => {
    expect(readDefinition('read_file', readFile)).toBe(readToolList([read(readFile)]).tools[0]?.definition);
    expect(readDefinition('(instructions)', '{"instructions":"a"}')).toBe('{"instructions":"a"}');
    for (const [name, text] of [
      ['other', readFile],
      ['a', '{"name":"a","name":"a"}'],
      ['a', '{"name":"a","icons":[]}'],
      ['a', '["a"]'],
      ['(instructions)', '{"name":"(instructions)"}'],
      ['a', `{"name":"a","description":"${'x'.repeat(maxDefinitionBytes)}"}`],
    ] as const) {
      expect(readDefinition(name, text), text.slice(0, 40)).toBeNull();
    }
  });
});

describe('a pin document', () => {
  const document: PinDocument = {
    tenant: 't',
    env: 'production',
    server: 'files',
    mode: 'hold',
    sequence: 7,
    pins: [
      { tool: 'b', fingerprint: `sha256:${'b'.repeat(64)}`, decision: 'rejected' },
      { tool: 'a', fingerprint: `sha256:${'a'.repeat(64)}`, decision: 'accepted' },
    ],
  };

  it('has one text, which reads back', () => {
    const text = pinText(document);
    expect(pinText({ ...document, pins: [...document.pins].reverse() })).toBe(text);
    expect(readPinDocument(text)).toEqual({ ...document, pins: [...document.pins].reverse() });
  });

  it('is nothing else', () => {
    const text = pinText(document);
    for (const broken of [
      '',
      '[]',
      text.replace('"hold"', '"other"'),
      text.replace('accepted', 'maybe'),
      text.replace('sha256:a', 'sha256:x'),
      text.replace('7', '1.5'),
      `${text} `.replace('{', '{"tenant":"u",'),
    ]) {
      expect(readPinDocument(broken), broken).toBeNull();
    }
  });

  it('permits by mode what nobody decided, and nothing that is rejected', () => {
    expect(['observe', 'hold', 'deny'].map((mode) => verdictOf(mode as 'observe', null))).toEqual([
      'allowed',
      'waiting',
      'waiting',
    ]);
    for (const mode of ['observe', 'hold', 'deny'] as const) {
      expect(verdictOf(mode, 'accepted')).toBe('allowed');
      expect(verdictOf(mode, 'rejected')).toBe('rejected');
    }
  });
});
