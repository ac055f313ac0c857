// A run's signed decision bundle: download, and verification with the pinned keys. The key inside the bundle is never
// trusted.
import { type JSX, useEffect, useState } from 'react';
import type { Checked } from '../../lib/evidence.ts';
import { useHostedAction } from '../../lib/hosted-query.ts';
import { download } from '../../ui/download.ts';
import { Button } from '../../ui/parts.tsx';
import { PinnedKeys } from '../../ui/pinned-keys.tsx';
import { Failed } from '../../ui/query-result.tsx';
import { Section } from '../../ui/section.tsx';
import { type Bundle, BundleButton, BundleCheck, useBundleCheck } from '../evidence/bundle-result.tsx';
import type { Run } from './run.ts';
import { keepSeal, type SealTone } from './seal.tsx';

export function Evidence({
  run,
  isPeek,
}: {
  readonly run: Run;
  /** Only the verification: files and keys are on the page of the run. */
  readonly isPeek: boolean;
}): JSX.Element {
  const fetched = useHostedAction('hostedRunBundle');
  const check = useBundleCheck();
  const { bundle, checked } = check;
  const { agent_id: agent, session_id: session } = run;
  const params = { agent_id: agent, session_id: session };
  /** The run when its bundle was requested, whose seal the lists of runs show. */
  const [requestedRun, setRequestedRun] = useState<Run | null>(null);
  const isRequested = bundle !== null && bundle === fetched.data;
  useEffect(() => {
    if (isRequested && requestedRun && checked) keepSeal(requestedRun, toneOf(checked));
  }, [isRequested, requestedRun, checked]);
  const verify = (): void => {
    setRequestedRun(run);
    fetched.mutate({ params }, check.check);
  };
  return (
    <Section title="Seal" label>
      {!isPeek && (
        <p className="muted">
          The decision bundle contains the events of the run in a signed chain. This browser verifies it with
          your pinned keys. To verify a file elsewhere, use <code>reeve-agent verify</code>.
        </p>
      )}
      <div className="decide-buttons">
        <Button icon="check" busy={fetched.isPending} onClick={verify}>
          Verify run
        </Button>
        {!isPeek && <BundleButton label="Verify file" by={check} />}
        {bundle && (
          <Button icon="download" onClick={() => saveBundle(agent, session, bundle)}>
            Download bundle
          </Button>
        )}
      </div>
      {fetched.error && <Failed error={fetched.error} />}
      <BundleCheck by={check} run={params} />
      {!isPeek && <PinnedKeys keys={check.keys} onPin={check.onPin} />}
    </Section>
  );
}

const toneOf = ({ wrong, keyId }: Checked): SealTone =>
  wrong !== null ? 'deny' : keyId === null ? 'ask' : 'allow';

export const saveBundle = (agent: string, session: string, bundle: Bundle): void =>
  download(fileName(agent, session), 'application/json', JSON.stringify(bundle));

const fileName = (agent: string, session: string): string =>
  `decision-bundle-${agent}-${session}.json`.replaceAll(/[^\w.-]/g, '_').slice(0, 200);
