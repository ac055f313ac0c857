// The link by which somebody chooses a password: shown once, for an admin to hand over.
import type { JSX } from 'react';
import { useAction } from '../../lib/query.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { CopySecret } from '../../ui/copy-button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Button } from '../../ui/parts.tsx';
import { Failed } from '../../ui/query-result.tsx';

interface InvitationProps {
  readonly title: string;
  readonly url: string;
  readonly onClose: () => void;
}

/** An invitation's link. The hub does not show it again, so neither a press beside the dialog nor Esc closes it. */
export const Invitation = ({ title, url, onClose }: InvitationProps): JSX.Element => (
  <Dialog title={title} open onClose={onClose} held>
    <p>Send this link to the user. It works once, within 7 days, and the hub does not show it again.</p>
    <CopySecret text={url} noun="link" />
    <Button onClick={onClose}>Close</Button>
  </Dialog>
);

interface RenewProps {
  readonly user: { readonly user_id: string; readonly email: string };
  readonly onClose: () => void;
}

/** Makes a new link for somebody who forgot the password, or whose invitation has expired. */
export function RenewInvite({ user, onClose }: RenewProps): JSX.Element {
  const invite = useAction('inviteUser', ['listUsers', 'listUserSessions']);
  const title = `New link for ${user.email}`;
  if (invite.data) return <Invitation title={title} url={invite.data.invite_url} onClose={onClose} />;
  return (
    <Dialog title={title} open onClose={onClose} held={invite.isPending}>
      <p>
        The user chooses a new password by the link. The old password, an older link and all sessions of the
        user end at once.
      </p>
      {invite.error && <Failed error={invite.error} />}
      <ActButton
        operation="inviteUser"
        kind="primary"
        busy={invite.isPending}
        onClick={() => invite.mutate({ params: { user_id: user.user_id } })}
      >
        Create link
      </ActButton>
    </Dialog>
  );
}
