// The initial text of a contract from an event: the call's tool, and a condition for each argument that is short enough
// to compare.
import type { JSX } from 'react';
import type { Reply } from '../../lib/api.ts';
import { ContractForm, type FormContract } from '../contracts/form.tsx';

const maxConditions = 5;
const maxLength = 200;

const isComparable = (value: unknown): value is string | number | boolean =>
  typeof value === 'number' ||
  typeof value === 'boolean' ||
  (typeof value === 'string' && value !== '' && value.length <= maxLength && !value.includes('{'));

function draftOf({ tool_name: tool, payload }: Reply<'getEvent'>): FormContract {
  const args = (payload?.tool_args ?? {}) as { readonly [name: string]: unknown };
  const conditions = Object.entries(args)
    .filter(([name, value]) => /^[A-Za-z_][\w-]*$/.test(name) && isComparable(value))
    .slice(0, maxConditions)
    .map(([name, value]) => ({ [`args.${name}`]: { equals: value } }));
  const slug = tool
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replaceAll(/^-+|(?<!-)-+$/g, '')
    .slice(0, 100);
  return {
    contract_id: `deny-${slug || 'call'}`,
    name: `Deny ${tool.slice(0, 200)}`,
    type: 'pre',
    description: null,
    tags: [],
    definition: {
      tool,
      when:
        conditions.length === 0
          ? { 'tool.name': { equals: tool } }
          : conditions.length === 1
            ? conditions[0]
            : { all: conditions },
      then: { effect: 'deny', message: 'This call is denied.' },
    },
  };
}

export default function DraftForm({
  event,
  ...acts
}: Readonly<{
  event: Reply<'getEvent'>;
  onClose: () => void;
  onDone: (id: string) => void;
}>): JSX.Element {
  return (
    <ContractForm
      draft={draftOf(event)}
      draftName={`contract from ${event.id}`}
      seenIn={event.env}
      {...acts}
    />
  );
}
