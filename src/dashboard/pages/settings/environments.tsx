// The environments, and which are protected: there only admins, and operators whose role names the environment, change
// what agents enforce.
import type { JSX } from 'react';
import { useAction, useCall } from '../../lib/query.ts';
import { Check } from '../../ui/form.tsx';
import { Failed, QueryResult } from '../../ui/query-result.tsx';

export function Environments({ isAdmin }: { readonly isAdmin: boolean }): JSX.Element {
  const environments = useCall('listEnvironments', {});
  const protect = useAction('putEnvironmentPolicy', ['listEnvironments']);
  return (
    <section className="card" aria-label="Environments">
      <h2>Environments</h2>
      <p className="muted">
        In a protected environment only admins, and operators whose role names it, deploy, assign bundles and
        decide tool definitions.
        {!isAdmin && ' Only an admin changes this.'}
      </p>
      {protect.error && <Failed error={protect.error} />}
      <QueryResult query={environments} rows={3}>
        {(list) =>
          list.environments.map(({ env, protected: isProtected }) => (
            <Check
              key={env}
              checked={isProtected}
              disabled={!isAdmin || protect.isPending}
              onChange={() => protect.mutate({ params: { env }, body: { protected: !isProtected } })}
            >
              Protect {env}
            </Check>
          ))
        }
      </QueryResult>
    </section>
  );
}
