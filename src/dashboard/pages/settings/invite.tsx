// The link by which somebody chooses a password: shown once, for an admin to hand over.
import type { JSX } from 'react';
import { useAction } from '../../lib/query.ts';
import { CopySecret } from '../../ui/copy-button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Button } from '../../ui/parts.tsx';
import { Failed } from '../../ui/query-result.tsx';

/** An invitation's link, which the hub does not show again. */
export const InviteLink = ({ url }: { readonly url: string }): JSX.Element => (
  <>
    <p>Send this link to the user. It works once, within 7 days, and the hub does not show it again.</p>
    <CopySecret text={url} noun="link" />
  </>
);

interface RenewProps {
  readonly user: { readonly user_id: string; readonly email: string };
  readonly onClose: () => void;
}

/** Makes a new link for somebody who forgot the password, or whose invitation has expired. */
export function RenewInvite({ user, onClose }: RenewProps): JSX.Element {
  const invite = useAction('inviteUser', ['listUsers', 'listUserSessions']);
  return (
    <Dialog title={`New link for ${user.email}`} open onClose={onClose}>
      {invite.data ? (
        <InviteLink url={invite.data.invite_url} />
      ) : (
        <>
          <p>
            The user chooses a new password by the link. The old password, an older link and all sessions of
            the user end at once.
          </p>
          {invite.error && <Failed error={invite.error} />}
          <Button
            kind="primary"
            busy={invite.isPending}
            onClick={() => invite.mutate({ params: { user_id: user.user_id } })}
          >
            Create link
          </Button>
        </>
      )}
    </Dialog>
  );
}
