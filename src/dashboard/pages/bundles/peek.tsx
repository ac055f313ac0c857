// A bundle beside its list: its versions and where they run, without actions.
import type { JSX } from 'react';
import { useCall } from '../../lib/query.ts';
import { Data, Env, Time } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';

export function BundlePeek({ name }: { readonly name: string }): JSX.Element {
  const versions = useCall('listBundleVersions', { params: { name }, query: { limit: 200 } });
  return (
    <QueryResult query={versions} rows={4}>
      {(list) => (
        <ul className="feed">
          {list.map((one) => (
            <li key={one.id} className="feed-row">
              <span>
                <strong>v{one.version}</strong>{' '}
                {one.deployed_envs.map((env) => (
                  <Env key={env} name={env} />
                ))}
              </span>
              <span className="muted">
                <Time at={one.created_at} /> by <Data text={one.uploaded_by} mono={false} max={60} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </QueryResult>
  );
}
