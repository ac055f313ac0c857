// The evidence page: verifies files in this browser, and holds the keys that a person trusts and the hub's own.
import { type JSX, useEffect, useState } from 'react';
import { type Checked, verifyBundle } from '../../lib/evidence.ts';
import { useSignedIn } from '../../lib/me.ts';
import { FileButton } from '../../ui/file-button.tsx';
import { PageHead } from '../../ui/parts.tsx';
import { PinnedKeys, usePinnedKeys } from '../../ui/pinned-keys.tsx';
import { TitledCard } from '../../ui/titled-card.tsx';
import { Chain } from '../audit/chain.tsx';
import { type Bundle, bundleIn, CheckResult, maxFile } from './bundle-result.tsx';
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
      {me.is_admin ? (
        <>
          <TitledCard title="Audit chain file">
            <Chain />
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
  const [keys, keep] = usePinnedKeys();
  const [refused, setRefused] = useState<string | null>(null);
  const [bundle, setBundle] = useState<Bundle | null>(null);
  const [checked, setChecked] = useState<Checked | null>(null);
  useEffect(() => {
    let isOver = false;
    if (bundle !== null) {
      void verifyBundle(bundle, keys).then((verdict) => {
        if (!isOver) setChecked(verdict);
      });
    }
    return () => {
      isOver = true;
    };
  }, [bundle, keys]);
  return (
    <>
      <p className="muted">
        Open a run to verify it directly. A downloaded bundle of a run is verified here as a file.
      </p>
      <div>
        <FileButton
          label="Verify bundle file"
          accept=".json"
          maxBytes={maxFile}
          onText={(text) => {
            setRefused(null);
            setBundle(bundleIn(text));
          }}
          onRefused={setRefused}
        />
      </div>
      {refused && (
        <p className="field-error" role="alert">
          {refused}
        </p>
      )}
      {bundle && checked && (
        <CheckResult result={checked} bundle={bundle} run={null} keys={keys} onPin={keep} />
      )}
      <PinnedKeys keys={keys} onKeys={keep} />
    </>
  );
}
