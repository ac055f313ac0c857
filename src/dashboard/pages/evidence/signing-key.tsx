// The hub's signing key, and its rotation.
import { type JSX, useState } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useCommand } from '../../lib/commands.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { cappedText, counted } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Check } from '../../ui/form.tsx';
import { DataParagraph } from '../../ui/names.tsx';
import { Data, Notice } from '../../ui/parts.tsx';
import { TitledCard } from '../../ui/titled-card.tsx';

/** Documents whose deployments are counted: the longest page of their list. */
const maxBundles = 1_000;

export function SigningKey(): JSX.Element {
  const rotate = useAction('rotateSigningKey');
  const [open, setOpen] = useState(false);
  const [compromised, setCompromised] = useState(false);
  useCommand('rotateSigningKey', () => setOpen(true));
  const [done, setDone] = useState<Reply<'rotateSigningKey'> | null>(null);
  const bundles = useCall('listBundles', { query: { limit: maxBundles } }, { enabled: open });
  const details = useCall('healthDetails', {}, { enabled: open });
  const rows = bundles.data ?? [];
  const deployments = rows.reduce((sum, one) => sum + one.deployed_envs.length, 0);
  const deploymentsText = cappedText(deployments, 'deployment', rows.length === maxBundles);
  return (
    <TitledCard title="Signing key">
      <p>
        The hub signs every document with this key. Rotating the key signs every current deployment again.
      </p>
      {done && (
        <Notice tone="allow">
          <p>{counted(done.deployments_re_signed, 'deployment')} signed with the new key:</p>
          <Data text={done.public_key} />
          <DataParagraph text={done.warning} mono={false} max={500} />
        </Notice>
      )}
      <div>
        <ActButton operation="rotateSigningKey" kind="danger" onClick={() => setOpen(true)}>
          Rotate signing key
        </ActButton>
      </div>
      <Confirm
        title="Rotate signing key"
        word="rotate"
        open={open}
        by={rotate}
        onClose={() => setOpen(false)}
        onAct={() =>
          rotate.mutate({ body: { compromised } }, (answer) => {
            setDone(answer);
            setOpen(false);
          })
        }
      >
        <p>
          {bundles.data && details.data
            ? `The new key signs ${deploymentsText}, and ` +
              `${counted(details.data.connected_agents, 'connected agent')} ` +
              `${details.data.connected_agents === 1 ? 'gets' : 'get'} the new signatures immediately.`
            : 'The new key signs every current deployment. Connected agents get the new signatures immediately.'}{' '}
          Agents with the old key pinned accept the new key, unless the old key is compromised.
        </p>
        <Check checked={compromised} onChange={() => setCompromised(!compromised)}>
          The old key is compromised (agents must pin the new key)
        </Check>
      </Confirm>
    </TitledCard>
  );
}
