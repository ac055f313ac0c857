// Two versions of a JSON value as one tree: members that only one of them has, and changed values, are marked.
import type { JSX } from 'react';
import { visible } from '../../lib/text.ts';

interface TreeProps {
  /** Undefined: nothing to compare with, so nothing is marked. */
  readonly before: unknown;
  readonly after: unknown;
  readonly isCompared: boolean;
}

const isTree = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === 'object' && value !== null;

const membersOf = (value: unknown): readonly string[] => (isTree(value) ? Object.keys(value) : []);
const memberOf = (value: unknown, name: string): unknown =>
  isTree(value) && Object.hasOwn(value, name) ? value[name] : undefined;
/** With quotes around texts: "1" is another value than 1. */
const jsonOf = (value: unknown): string => JSON.stringify(value) ?? 'null';
const isSame = (a: unknown, b: unknown): boolean => jsonOf(a) === jsonOf(b);

const Leaf = ({ value }: { readonly value: unknown }): JSX.Element => (
  <bdi className="data">{visible(jsonOf(value))}</bdi>
);

/** The members of a value, and below them their own. */
export function Tree({ before, after, isCompared }: TreeProps): JSX.Element {
  const names = [...new Set([...membersOf(after), ...membersOf(before)])];
  return (
    <ul className="tool-tree">
      {names.map((name) => (
        <Member
          key={name}
          name={name}
          before={memberOf(before, name)}
          after={memberOf(after, name)}
          isCompared={isCompared}
        />
      ))}
    </ul>
  );
}

function Member({ name, before, after, isCompared }: TreeProps & { readonly name: string }): JSX.Element {
  const label = <bdi className="data">{visible(name)}</bdi>;
  if (isCompared && after === undefined) return <Marked word="removed" label={label} value={before} />;
  if (isCompared && before === undefined) return <Marked word="added" label={label} value={after} />;
  if (isTree(after) && (!isCompared || isTree(before))) {
    return (
      <li>
        {label}
        {isCompared && !isSame(before, after) && <span className="muted"> changed</span>}
        <Tree before={before} after={after} isCompared={isCompared} />
      </li>
    );
  }
  if (!isCompared || isSame(before, after)) {
    return (
      <li>
        {label}: <Leaf value={after} />
      </li>
    );
  }
  return (
    <>
      <Marked word="removed" label={label} value={before} />
      <Marked word="added" label={label} value={after} />
    </>
  );
}

const Marked = ({
  word,
  label,
  value,
}: Readonly<{ word: 'added' | 'removed'; label: JSX.Element; value: unknown }>): JSX.Element => (
  <li className={`diff-${word}`}>
    <span aria-hidden="true">{word === 'added' ? '+ ' : '− '}</span>
    <span className="heard">{word}: </span>
    {label}: <Leaf value={value} />
  </li>
);
