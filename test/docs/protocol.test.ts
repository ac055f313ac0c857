// The tables of events in docs/protocol.md against their declarations.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { FrameTable } from '../../src/http/contract/frame-table.ts';
import { consoleAgentFrames, consoleDashboardFrames } from '../../src/http/contract/frames.ts';
import { hostedAgentFrames } from '../../src/http/contract/hosted-frames.ts';

const page = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8');

interface Schema {
  readonly anyOf?: readonly Schema[];
  readonly properties?: { readonly [name: string]: unknown };
  readonly required?: readonly string[];
}

function fieldsOf({ anyOf, properties = {}, required = [] }: Schema): string {
  if (anyOf) return anyOf.map(fieldsOf).join('; or ');
  return Object.keys(properties)
    .filter((name) => name !== 'type')
    .map((name) => (required.includes(name) ? `\`${name}\`` : `\`${name}\`?`))
    .join(', ');
}

const rowsOf = (table: FrameTable): string[] =>
  Object.entries(table).map(
    ([type, { summary, data }]) =>
      `| \`${type}\` | ${summary} | ${fieldsOf(z.toJSONSchema(data, { unrepresentable: 'any' }) as Schema)} |`,
  );

it.each([
  ['Agent stream', consoleAgentFrames],
  ['Dashboard stream', consoleDashboardFrames],
  ['Hosted agent stream', hostedAgentFrames],
])('the table of the %s has a row for every event, as it is declared', (title, table) => {
  const section = page.split(`### ${title}\n`)[1]?.split('\n###')[0] ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  expect(rows).toEqual(rowsOf(table));
});
