// After a new version is saved: the way to a change for each composition that uses the contract.
import { Link, useNavigate } from '@tanstack/react-router';
import type { JSX } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { changeTo } from '../../lib/change-link.ts';
import { keyOf, queries, useCall } from '../../lib/query.ts';
import { count } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { DataLink } from '../../ui/names.tsx';
import { Failed, QueryResult } from '../../ui/query-result.tsx';
import { Section } from '../../ui/section.tsx';
import { bodyOf, storedOf, useUpdateComposition } from '../compositions/draft.ts';

/** Number of displayed compositions. */
const max = 3;

/** @param version the saved version */
export function DraftChanges({
  id,
  version,
}: {
  readonly id: string;
  readonly version: number;
}): JSX.Element {
  const usage = useCall('contractUsage', { params: { contract_id: id } });
  return (
    <Section title="Saved version" label>
      <p>Version {version} is saved. Agents receive it when a composition that contains it is deployed.</p>
      <QueryResult query={usage} rows={1}>
        {(list) => (
          <>
            {list.length === 0 && <p>No composition contains this contract. Add it to one first.</p>}
            <ul className="feed">
              {list.slice(0, max).map(({ composition_name: name }) => (
                <li key={name}>
                  <DraftChange name={name} id={id} version={version} />
                </li>
              ))}
            </ul>
            {list.length > max && (
              <Link to="/policies" search={{ view: 'compositions' } as never}>
                and {count(list.length - max)} more
              </Link>
            )}
          </>
        )}
      </QueryResult>
    </Section>
  );
}

/** A composition contains the versions of its last save: one that lacks the saved version is saved first. */
function DraftChange({
  name,
  id,
  version,
}: Readonly<{ name: string; id: string; version: number }>): JSX.Element {
  const composition = useCall('getComposition', { params: { name } });
  const navigate = useNavigate();
  const save = useUpdateComposition();
  const draft = (): void => void navigate({ ...changeTo.composition(name) });
  const update = (stored: Reply<'getComposition'>): void =>
    save.mutate(bodyOf(name, storedOf(stored)), (saved) => {
      queries.setQueryData(keyOf('getComposition', { params: { name } }), saved);
      draft();
    });
  return (
    <QueryResult query={composition} rows={1}>
      {(stored) => {
        const isOld = stored.contracts.some(
          (one) => one.contract_id === id && one.contract_version < version,
        );
        return (
          <>
            <div className="decide-buttons">
              <DataLink link={linkTo.composition(name)} text={name} />
              {isOld ? (
                <ActButton
                  operation="updateComposition"
                  busy={save.isPending}
                  aria-label={`Update and draft change of ${name.slice(0, 80)}`}
                  onClick={() => update(stored)}
                >
                  Update and draft change
                </ActButton>
              ) : (
                <Link {...changeTo.composition(name)} aria-label={`Draft change of ${name.slice(0, 80)}`}>
                  Draft change
                </Link>
              )}
              {isOld && <span className="muted">Saves it with the latest version of each contract.</span>}
            </div>
            {save.error && <Failed error={save.error} />}
          </>
        );
      }}
    </QueryResult>
  );
}
