// The problems that the editor shows: one line each, the line of the text that is edited.
import { expect, it } from 'vitest';
import { compileBundle } from '../../packages/agent/src/rules/evaluate/compile.ts';
import { bundleOfContract, problemsOf, problemsOfContract } from '../../src/dashboard/lib/engine.ts';
import { noFaults, view, write } from './browser.ts';
import { tenantOfFile } from './file-hub.ts';

const { hub, cookie } = await tenantOfFile();

const definition = (effect: string): string =>
  `tool: refund\nwhen:\n  args.amount: { gtt: 1 }\nthen:\n  effect: ${effect}\n  message: No`;

it.each([
  ['tool: refund\nwhen: a: b: c', 2, 'Invalid YAML: Nested mappings are not allowed in compact mappings'],
  ['tool: [a\nwhen: 2', 2, /^Invalid YAML: Flow sequence [^()]*$/],
  [definition('denyy'), 5, 'then.effect: expected deny or approve. Did you mean deny?'],
  [definition('deny'), 3, /^when\.args\.amount\.gtt: unknown operator; [^()]*Did you mean gt\?$/],
])('of a contract name its own line: %j', (text, line, message) => {
  expect(problemsOfContract('a', 'pre', text)[0]).toMatchObject({
    line,
    message: message instanceof RegExp ? expect.stringMatching(message) : message,
  });
});

it.each([
  ['pre', definition('ask').replace('effect:', 'action:').replace('gtt', 'gt')],
  ['pre', `${definition('approve').replace('gtt', 'gt')} action\n  timeout_action: deny`],
  ['sandbox', 'tool: refund\nwithin: [/w]\noutside: block\nmessage: No'],
])('has none for a contract of either vocabulary, %s: %j', (type, text) => {
  expect(problemsOfContract('a', type, text).filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(compileBundle(bundleOfContract('a', type, text), {}).ok).toBe(true);
});

it('of a contract in the words of rulesets name its own line', () => {
  expect(problemsOfContract('a', 'pre', definition('asl').replace('effect:', 'action:'))[0]).toMatchObject({
    line: 5,
    message: 'then.action: expected block or ask. Did you mean ask?',
  });
});

it('of a document name no place twice', () => {
  const [problem] = problemsOf('apiVersion: service/v1\nkind: [');
  expect(problem?.line).toBe(2);
  expect(problem?.message).not.toMatch(/line \d/);
});

it('are shown with one line', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/policies');
  await page.getByRole('button', { name: 'New contract' }).first().click();
  const form = page.getByRole('dialog', { name: 'New contract' });
  await write(form.getByRole('textbox', { name: 'Definition as YAML' }), 'tool: refund\nwhen: a: b');
  const problems = form.getByRole('list', { name: 'Problems' }).getByRole('listitem');
  await problems.filter({ hasText: /^Error in line 2: / }).waitFor();
  expect((await problems.allTextContents()).join('\n').match(/line \d+/g)).toEqual(['line 2']);
  noFaults(visit);
  await visit.context.close();
});
