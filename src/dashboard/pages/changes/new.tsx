// A new change: deploys a version or a composition, or undeploys a bundle. The address is the draft, and nothing is
// stored before the button is pressed.
import { useNavigate } from '@tanstack/react-router';
import type { JSX } from 'react';
import { linkTo } from '../../lib/address.ts';
import { useOneEnv } from '../../lib/me.ts';
import { envs, useFilters } from '../../lib/search.ts';
import { middleCut, visible } from '../../lib/text.ts';
import { Select } from '../../ui/form.tsx';
import { Empty, PageHead } from '../../ui/parts.tsx';
import { type DeploySource, Plan } from './plan.tsx';
import { Undeploy } from './undeploy.tsx';
import { keepWarnings, type Warnings } from './warnings.ts';

export default function NewChange(): JSX.Element {
  const [{ bundle, composition, version, undeploy }, change] = useFilters();
  const env = useOneEnv();
  const navigate = useNavigate();
  const name = composition ?? bundle ?? '';
  const source: DeploySource | null = composition
    ? { kind: 'composition', name: composition }
    : bundle && /^[1-9]\d{0,8}$/.test(version ?? '')
      ? { kind: 'bundle', name: bundle, version: Number(version) }
      : null;
  const isUndeploy = undeploy === 'true' && bundle !== undefined;
  const done = (id: string, warnings: Warnings): void => {
    keepWarnings(id, warnings);
    void navigate({ ...linkTo.deployment(id), search: {} as never, replace: true });
  };
  const words = middleCut(visible(name), 120);
  const title = isUndeploy
    ? `Undeploy ${words} from ${env}`
    : `Change ${words}${source?.version ? ` v${source.version}` : ''} in ${env}`;
  return (
    <section className="page change-page" aria-label={title}>
      <PageHead title={source === null && !isUndeploy ? 'New change' : title} />
      {source === null && !isUndeploy ? (
        <Empty
          title="No document in this address"
          text="Open a composition or a document, and deploy it from there."
        />
      ) : (
        <>
          {!isUndeploy && (
            <Select
              label="Environment to deploy to"
              value={env}
              options={envs}
              onValue={(next) => change({ env: next }, true)}
            />
          )}
          {isUndeploy ? (
            <Undeploy key={`${name} ${env}`} name={name} env={env} />
          ) : (
            source && <Plan key={`${name} ${version} ${env}`} source={source} env={env} onDone={done} />
          )}
        </>
      )}
    </section>
  );
}
