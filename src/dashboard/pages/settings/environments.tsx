// The environments, and which are protected: there only admins, and operators whose role names the environment, change
// what agents enforce.
import type { JSX } from 'react';
import { useStaleReason } from '../../lib/may.ts';
import { useSignedIn } from '../../lib/me.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { Check } from '../../ui/form.tsx';
import { PageHead } from '../../ui/parts.tsx';
import { Failed, QueryResult } from '../../ui/query-result.tsx';
import { TitledCard } from '../../ui/titled-card.tsx';

export default function EnvironmentsPage(): JSX.Element {
  const { is_admin: isAdmin } = useSignedIn();
  const environments = useCall('listEnvironments', {});
  const cannot = useStaleReason();
  const protect = useAction('putEnvironmentPolicy', ['listEnvironments']);
  return (
    <div className="page">
      <PageHead title="Environments" />
      <TitledCard title="Environments">
        <p className="muted">
          In a protected environment only admins, and operators whose role names it, deploy, assign bundles
          and decide tool definitions.
          {!isAdmin && ' Only an admin changes this.'}
        </p>
        {protect.error && <Failed error={protect.error} />}
        <QueryResult query={environments} rows={3}>
          {(list) =>
            list.environments.map(({ env, protected: isProtected }) => (
              <Check
                key={env}
                checked={isProtected}
                disabled={!isAdmin || protect.isPending || cannot !== null}
                title={cannot ?? undefined}
                onChange={() => protect.mutate({ params: { env }, body: { protected: !isProtected } })}
              >
                Protect {env}
              </Check>
            ))
          }
        </QueryResult>
      </TitledCard>
    </div>
  );
}
