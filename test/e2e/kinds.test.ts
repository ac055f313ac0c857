// A hub configured for another vendor's words: what it accepts, writes and says is refused.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HubProcess } from './process.ts';

const hub = new HubProcess({
  WIRE_API_VERSIONS: 'acme/v1,acme/v2',
  WIRE_BUNDLE_KINDS: 'AcmeBundle,ContractBundle',
  WIRE_RULESET_KINDS: 'AcmeRules',
});
let cookie = '';
beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
});
afterAll(async () => {
  await hub.remove();
});

const head = (kind: string, apiVersion = 'acme/v1') =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: team}\ndefaults: {mode: enforce}\n`;
const when = 'when: {args.p: {exists: true}}';
const bundle = `contracts: [{id: a, type: pre, tool: t, ${when}, then: {effect: deny, message: m}}]\n`;
const ruleset = `rules: [{id: a, type: pre, tool: t, ${when}, then: {action: block, message: m}}]\n`;
const post = (path: string, body: object) => hub.call('POST', `/api/v1${path}`, { cookie, body });
const evaluate = (yaml_content: string) =>
  post('/bundles/evaluate', { yaml_content, tool_name: 't', tool_args: { p: 1 } });

it.each([
  ['AcmeBundle', head('AcmeBundle') + bundle],
  ['ContractBundle', head('ContractBundle', 'acme/v2') + bundle],
  ['AcmeRules', head('AcmeRules') + ruleset],
])('evaluates %s', async (_kind, yaml) => {
  expect((await evaluate(yaml)).body).toMatchObject({ verdict: 'deny', deciding_contract: 'a' });
});

it.each([
  [
    'a kind that is not configured',
    head('Ruleset') + ruleset,
    /kind: expected AcmeBundle or ContractBundle or AcmeRules/,
  ],
  [
    'an apiVersion that is not configured',
    head('AcmeBundle', 'service/v1') + bundle,
    /apiVersion: expected acme\/v1 or acme\/v2/,
  ],
])('refuses %s', async (_name, yaml, expected) => {
  const answer = await evaluate(yaml);
  expect([answer.status, answer.body.detail]).toEqual([422, expect.stringMatching(expected)]);
});

it.each([
  ['bundle', 'AcmeBundle', 'effect: deny', head('ContractBundle') + bundle],
  ['ruleset', 'AcmeRules', 'action: block', head('AcmeRules') + ruleset],
])(
  'imports a %s, and writes its composition as the first configured kind of its vocabulary',
  async (...row) => {
    const [name, kind, effect, yaml] = row;
    const yaml_content = yaml.replace('team', name);
    expect((await post('/contracts/import', { yaml_content })).status).toBe(201);
    const preview = await post(`/compositions/${name}/preview`, {});
    expect(preview.body.validation_errors).toEqual([]);
    expect(preview.body.yaml_content).toMatch(new RegExp(`^apiVersion: acme/v1\nkind: ${kind}\n`));
    expect(preview.body.yaml_content).toContain(effect);
    expect((await evaluate(preview.body.yaml_content)).body.verdict).toBe('deny');
  },
);
