// The changes that a deployment of the saved composition would make in each environment.
import type { JSX } from 'react';
import type { Input, Reply } from '../../lib/api.ts';
import { useCall } from '../../lib/query.ts';
import { type Env as Environment, envs } from '../../lib/search.ts';
import { count, counted } from '../../lib/text.ts';
import { Button, Env } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { Section } from '../../ui/section.tsx';

const kinds = ['added', 'removed', 'tightened', 'loosened', 'changed'] as const;

export function Environments({
  name,
  onCompare,
}: Readonly<{ name: string; onCompare: (env: Environment) => void }>): JSX.Element {
  return (
    <Section title="Deployed versions by environment" label="Deployed versions">
      <ul className="feed">
        {envs.map((env) => (
          <Row key={env} name={name} env={env} onCompare={() => onCompare(env)} />
        ))}
      </ul>
    </Section>
  );
}

function Row({
  name,
  env,
  onCompare,
}: Readonly<{ name: string; env: Environment; onCompare: () => void }>): JSX.Element {
  const bundleImpactQuery = useCall('bundleImpact', {
    body: { composition: name, env },
  } as Input<'bundleImpact'>);
  return (
    <li className="feed-row">
      <span>
        <Env name={env} />{' '}
        <QueryResult query={bundleImpactQuery} rows={1}>
          {(impact) => <Words impact={impact} />}
        </QueryResult>
      </span>
      <Button aria-label={`Compare with ${env}`} onClick={onCompare}>
        Compare
      </Button>
    </li>
  );
}

function Words({ impact }: { readonly impact: Reply<'bundleImpact'> }): JSX.Element {
  const { current_version: version, agents } = impact;
  if (version === null) return <span className="muted">not deployed</span>;
  if (impact.revision_hash === impact.current_revision_hash) return <>identical to v{version}</>;
  const parts = kinds
    .filter((kind) => impact[kind].length > 0)
    .map((kind) => `${count(impact[kind].length)} ${kind}`);
  const loosens = impact.loosened.length + impact.removed.length > 0;
  return (
    <span className="numbers">
      runs v{version}:{' '}
      <span className={loosens ? 'tone-ask' : undefined}>
        {!impact.comparable
          ? 'comparison not available'
          : parts.length === 0
            ? 'no contract changes, other lines change'
            : `a deployment gives ${parts.join(', ')}`}
      </span>
      , for {counted(agents.connected, 'connected agent')}
    </span>
  );
}
