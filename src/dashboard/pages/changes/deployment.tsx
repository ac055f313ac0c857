// One deployment: its progress among the connected agents, and the way back.
import { Link } from '@tanstack/react-router';
import type { JSX } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { changeTo } from '../../lib/change-link.ts';
import { useRefusal } from '../../lib/may.ts';
import { useCall } from '../../lib/query.ts';
import { counted, middleCut, visible } from '../../lib/text.ts';
import { ofDocument, unableIn } from '../../lib/unable.ts';
import { Diff } from '../../ui/diff.tsx';
import { Findings } from '../../ui/findings.tsx';
import { Icon } from '../../ui/icons.tsx';
import { DataLink, DataParagraph } from '../../ui/names.tsx';
import { Data, Notice, PageHead, Time } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { QuerySection } from '../../ui/section.tsx';
import { useIds } from '../../ui/thing-page.tsx';
import { ChangeButton } from './change-button.tsx';
import { RolloutProgress } from './rollout.tsx';
import { warningsOf } from './warnings.ts';

type Deployment = Reply<'deploymentRollout'>['deployment'];

export default function DeploymentPage(): JSX.Element {
  const { id } = useIds('id');
  const rolloutQuery = useCall('deploymentRollout', {
    params: { deployment_id: id },
    query: { limit: 1 },
  });
  const deployment = rolloutQuery.data?.deployment;
  const name = deployment
    ? `${middleCut(visible(deployment.bundle_name), 120)} v${deployment.bundle_version}`
    : '';
  const title = deployment ? `Deployment of ${name} to ${deployment.env}` : 'Deployment';
  return (
    <section className="page change-page" aria-label={title}>
      <PageHead title={title}>
        <Link to="/changes">View all changes</Link>
      </PageHead>
      <QueryResult query={rolloutQuery} rows={3}>
        {({ deployment, current }) => <One deployment={deployment} isCurrent={current} />}
      </QueryResult>
    </section>
  );
}

function One({
  deployment,
  isCurrent,
}: Readonly<{ deployment: Deployment; isCurrent: boolean }>): JSX.Element {
  const { id, bundle_name: name, bundle_version: version, env, forced, reason } = deployment;
  const history = useCall('listDeployments', { query: { bundle_name: name, env, limit: 200 } });
  const versions = useCall('listBundleVersions', { params: { name }, query: { limit: 200 } });
  const hashOf = (of: number) => versions.data?.find((one) => one.version === of)?.revision_hash;
  const place = history.data?.findIndex((one) => one.id === id) ?? -1;
  const replaced = place < 0 ? undefined : history.data?.[place + 1]?.bundle_version;
  const [own, next] = [history.data?.[place], history.data?.[place - 1]];
  // The same document under another number is nothing to go back to.
  const isSame = replaced === undefined || hashOf(replaced) === hashOf(version);
  const earlier = isSame ? undefined : replaced;
  const warnings = warningsOf(id);
  const [unable, findings] = [unableIn(warnings), ofDocument(warnings)];
  const refusal = useRefusal('deployBundle', [env]);
  return (
    <>
      <p>
        {isCurrent && (
          <span className="tone-allow">
            <Icon name="check" />
          </span>
        )}{' '}
        <DataLink link={linkTo.bundle(name)} text={`${name} v${version}`} max={160} mono={false} />{' '}
        {isCurrent ? 'is' : 'was'} deployed to {env}
        {forced ? ' despite errors (forced)' : ''}
        {!isCurrent && <End own={own} next={next} />}.
        {reason !== null && <Data before=" Reason: " text={reason} mono={false} max={500} />}
      </p>
      <p className="muted">
        Deployed <Time at={deployment.created_at} /> by{' '}
        <Data text={deployment.deployed_by} mono={false} max={80} />.
      </p>
      {unable !== null && (
        <Notice tone="ask" icon="triangle">
          <DataParagraph text={unable} mono={false} max={600} />
        </Notice>
      )}
      {findings.length > 0 && (
        <details>
          <summary>{counted(findings.length, 'problem')} in the document</summary>
          <Findings findings={findings} max={50} />
        </details>
      )}
      <section className="form" aria-label="Progress" aria-live="polite">
        <h2>Progress</h2>
        <RolloutProgress id={id} version={version} />
      </section>
      {earlier !== undefined && <Difference name={name} from={earlier} to={version} />}
      {isCurrent && (
        <div className="decide-buttons">
          {earlier !== undefined && (
            <ChangeButton
              command="rollBack"
              link={changeTo.bundle(name, earlier, env)}
              why={refusal}
              of={name}
            >
              Roll back {env} to v{earlier}
            </ChangeButton>
          )}
          <ChangeButton command="undeploy" link={changeTo.undeploy(name, env)} why={refusal} of={name}>
            Undeploy from {env}
          </ChangeButton>
        </div>
      )}
    </>
  );
}

type HistoryRow = Reply<'listDeployments'>[number];

/** The end of a deployment that is not the current one. */
function End({
  own,
  next,
}: Readonly<{ own: HistoryRow | undefined; next: HistoryRow | undefined }>): JSX.Element | null {
  if (own?.undeployed_at != null)
    return (
      <>
        {' '}
        until <Data text={own.undeployed_by ?? 'a person'} mono={false} max={80} /> undeployed it{' '}
        <Time at={own.undeployed_at} />
      </>
    );
  return next === undefined ? null : (
    <>
      {' '}
      until v{next.bundle_version} replaced it <Time at={next.created_at} />
    </>
  );
}

/** Lines of a difference until a person expands the rest. */
const maxLines = 200;

/** Difference that the deployment made. */
function Difference({ name, from, to }: Readonly<{ name: string; from: number; to: number }>): JSX.Element {
  const before = useCall('getBundleYaml', { params: { name, version: from } });
  const after = useCall('getBundleYaml', { params: { name, version: to } });
  return (
    <QuerySection
      title={`Changes from v${from}`}
      label="Difference"
      query={before.data === undefined ? before : after}
      rows={4}
    >
      {(text) => before.data !== undefined && <Diff before={before.data} after={text} max={maxLines} />}
    </QuerySection>
  );
}
