// The change that an audit entry recorded: its fields before and after.
import type { JSX } from 'react';
import { plainJson } from '../../lib/text.ts';
import { Data } from '../../ui/parts.tsx';

type Fields = { readonly [field: string]: unknown };

export interface Change {
  readonly before: Fields;
  readonly after: Fields;
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Null if an entry has no fields of both: the record is new or gone, or nothing was changed. */
export const changeIn = ({ before, after }: Fields): Change | null =>
  isFields(before) && isFields(after) ? { before, after } : null;

const Value = ({ value }: { readonly value: unknown }): JSX.Element =>
  value === undefined || value === null ? (
    <span className="muted">none</span>
  ) : (
    <Data text={plainJson(value)} max={2_000} />
  );

export function ChangeTable({ change: { before, after } }: { readonly change: Change }): JSX.Element {
  const fields = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return (
    <>
      <h2>Change</h2>
      <table className="table" aria-label="Change">
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {fields.map((field) => (
            <tr key={field}>
              <th scope="row">
                <Data text={field} max={80} />
              </th>
              <td>
                <Value value={before[field]} />
              </td>
              <td>
                <Value value={after[field]} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
