// The environment in the top bar. All pages share it, and the address contains it.
import type { JSX } from 'react';
import { envRefusal } from '../lib/may.ts';
import { useSignedIn } from '../lib/me.ts';
import { useCall } from '../lib/query.ts';
import { type Env, useEnv, useFilters } from '../lib/search.ts';
import { Icon } from '../ui/icons.tsx';

const choices: readonly (readonly [env: Env | undefined, label: string])[] = [
  [undefined, 'All'],
  ['development', 'Development'],
  ['staging', 'Staging'],
  ['production', 'Production'],
];

/** Names of the environments, as the radio group has them. */
export const envLabel = (env: Env | undefined): string => choices.find(([one]) => one === env)?.[1] ?? 'All';

/** One environment or all of them. An environment without a role is off. */
export function EnvironmentRadios(): JSX.Element {
  const [, change] = useFilters();
  const current = useEnv();
  const { roles } = useSignedIn();
  const { data } = useCall('listEnvironments', {});
  return (
    <div role="radiogroup" aria-label="Environment" className="env-radios">
      {choices.map(([env, label]) => {
        const refusal = env === undefined ? null : envRefusal(roles, env);
        const isProtected = data?.environments.some((one) => one.env === env && one.protected) ?? false;
        return (
          <label key={label} className={`env-radio env-radio-${env ?? 'all'}`} title={refusal ?? undefined}>
            <input
              type="radio"
              name="environment"
              checked={current === env}
              disabled={refusal !== null}
              onChange={() => change({ env })}
            />
            <span>
              {label}
              {isProtected && (
                <>
                  <Icon name="lock" />
                  <span className="heard"> protected</span>
                </>
              )}
            </span>
          </label>
        );
      })}
    </div>
  );
}
