// Sessions of a person: one's own sessions, and those of a user for admins.
import type { JSX } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { nameColumn, timeColumn, wordColumn } from '../../ui/columns.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Failed } from '../../ui/query-result.tsx';
import { type Resource, ResourceView } from '../../ui/resource.tsx';

type Session = Reply<'listOwnSessions'>[number];

const methods = {
  password: 'password',
  link: 'sign-in link',
  invite: 'invitation',
  oidc: 'single sign-on',
} as const;

/** @param onEnd ends one of them; absent: they end together */
const sessionsOf = (name: string, onEnd?: (session: Session) => void): Resource<Session> => ({
  name,
  noun: 'session',
  sortAs: `${name}_sort`,
  keyOf: (session) => session.id,
  columns: [
    {
      key: 'browser',
      label: 'Browser',
      width: 2,
      sort: (session) => session.browser ?? '',
      cell: (session) => (
        <>
          {session.browser ?? 'Unknown'} {session.current && <span className="tag">this one</span>}
        </>
      ),
    },
    nameColumn('network', 'Network', (session) => session.network ?? 'unknown', 1.4),
    wordColumn('method', 'Signed in by', (session) => (session.method ? methods[session.method] : 'unknown')),
    timeColumn('seen', 'Last seen', (session) => session.last_seen_at),
  ],
  acts: onEnd
    ? [
        {
          label: 'End',
          name: ({ browser }) => `End the session of ${browser ?? 'an unknown browser'}`,
          isHidden: ({ current }) => current,
          operation: 'endOwnSession',
          press: onEnd,
        },
      ]
    : [],
});

export function OwnSessions(): JSX.Element {
  const sessions = useCall('listOwnSessions', {});
  const end = useAction('endOwnSession', ['listOwnSessions']);
  const endOthers = useAction('endOtherSessions', ['listOwnSessions']);
  const provider = useCall('signInMethods', {}).data?.oidc ?? null;
  const failure = end.error ?? endOthers.error;
  return (
    <section className="card" aria-label="Your sessions">
      <ResourceView
        resource={sessionsOf('sessions', ({ id }) => end.mutate({ params: { login_id: id } }))}
        query={sessions}
        rows={sessions.data ?? []}
        head={() => (
          <>
            <div className="card-head">
              <h2>Your sessions</h2>
              <ActButton
                operation="endOtherSessions"
                busy={endOthers.isPending}
                onClick={() => endOthers.mutate({})}
              >
                End all others
              </ActButton>
            </div>
            {failure && <Failed error={failure} />}
          </>
        )}
      />
      {provider && (
        <a className="button" href="/auth/oidc?link=1&return_to=/dashboard/me/security">
          Link account of {provider.name}
        </a>
      )}
    </section>
  );
}

export function UserSessions({
  user,
  onClose,
}: Readonly<{ user: Reply<'listUsers'>[number]; onClose: () => void }>): JSX.Element {
  const params = { user_id: user.user_id };
  const sessions = useCall('listUserSessions', { params });
  const end = useAction('endUserSessions', ['listUserSessions']);
  return (
    <Dialog title={`Sessions of ${user.email}`} open onClose={onClose}>
      <ResourceView
        resource={sessionsOf('user_sessions')}
        query={sessions}
        rows={sessions.data ?? []}
        head={() => end.error && <Failed error={end.error} />}
      />
      <ActButton
        operation="endUserSessions"
        kind="primary"
        busy={end.isPending}
        onClick={() => end.mutate({ params })}
      >
        Sign out everywhere
      </ActButton>
    </Dialog>
  );
}
