// The evidence page: verifies files in this browser, and holds the keys that a person trusts and the hub's own.
import type { JSX } from 'react';
import { useSignedIn } from '../../lib/me.ts';
import { PageHead } from '../../ui/parts.tsx';
import { PinnedKeys } from '../../ui/pinned-keys.tsx';
import { TitledCard } from '../../ui/titled-card.tsx';
import { Chain } from '../audit/chain.tsx';
import { BundleButton, BundleCheck, useBundleCheck } from './bundle-result.tsx';
import { AuditDownload, RunDownload } from './downloads.tsx';
import { SigningKey } from './signing-key.tsx';

export default function Evidence(): JSX.Element {
  const me = useSignedIn();
  return (
    <div className="page">
      <PageHead
        title="Evidence"
        summary="This browser verifies decision bundles and the audit chain with the keys that you pinned."
      />
      <TitledCard title="Decision bundle">
        <BundleFile />
      </TitledCard>
      <TitledCard title="Run">
        <p className="muted">Download the decision bundle of a run, to verify it elsewhere.</p>
        <RunDownload />
      </TitledCard>
      {me.is_admin ? (
        <>
          <TitledCard title="Audit chain file">
            <Chain />
            <AuditDownload />
          </TitledCard>
          <SigningKey />
        </>
      ) : (
        <p className="muted">
          Only admins can verify and download the audit chain, and rotate the signing key.
        </p>
      )}
    </div>
  );
}

/** A decision bundle of any run, from a file. */
function BundleFile(): JSX.Element {
  const check = useBundleCheck();
  return (
    <>
      <p className="muted">
        Open a run to verify it directly. A downloaded bundle of a run is verified here as a file.
      </p>
      <div>
        <BundleButton label="Verify bundle file" by={check} />
      </div>
      <BundleCheck by={check} run={null} />
      <PinnedKeys keys={check.keys} onPin={check.onPin} />
    </>
  );
}
