// Where a person is signed in: one's own sessions, and those of a user for admins.
import type { JSX } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { Dialog } from '../../ui/overlay.tsx';
import { Button, Time } from '../../ui/parts.tsx';
import { Failed, QueryResult } from '../../ui/query-result.tsx';
import { Table } from '../../ui/table.tsx';

type Session = Reply<'listOwnSessions'>[number];

const methods = {
  password: 'password',
  link: 'sign-in link',
  invite: 'invitation',
  oidc: 'single sign-on',
} as const;

interface ListProps {
  readonly sessions: readonly Session[];
  readonly name: string;
  /** Ends one of them; absent: they end together. */
  readonly onEnd?: (session: Session) => void;
}

const SessionTable = ({ sessions, name, onEnd }: ListProps): JSX.Element => (
  <Table
    name={name}
    row="session"
    sortAs={`${name}_sort`}
    rows={sessions}
    keyOf={(session) => session.id}
    columns={[
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
      {
        key: 'network',
        label: 'Network',
        width: 1.4,
        sort: (session) => session.network ?? '',
        cell: (session) => <span className="mono">{session.network ?? 'unknown'}</span>,
      },
      {
        key: 'method',
        label: 'Signed in by',
        sort: (session) => session.method ?? '',
        cell: (session) => (session.method ? methods[session.method] : 'unknown'),
      },
      {
        key: 'seen',
        label: 'Last seen',
        sort: (session) => Date.parse(session.last_seen_at),
        text: (session) => session.last_seen_at,
        cell: (session) => <Time at={session.last_seen_at} className="muted" />,
      },
      ...(onEnd
        ? [
            {
              key: 'actions',
              label: 'Actions',
              cell: (session: Session) =>
                session.current ? null : (
                  <Button
                    kind="quiet"
                    aria-label={`End the session of ${session.browser ?? 'an unknown browser'}`}
                    onClick={() => onEnd(session)}
                  >
                    End
                  </Button>
                ),
            },
          ]
        : []),
    ]}
  />
);

export function OwnSessions(): JSX.Element {
  const sessions = useCall('listOwnSessions', {});
  const end = useAction('endOwnSession', ['listOwnSessions']);
  const endOthers = useAction('endOtherSessions', ['listOwnSessions']);
  const provider = useCall('signInMethods', {}).data?.oidc ?? null;
  const failure = end.error ?? endOthers.error;
  return (
    <section className="card" aria-label="Your sessions">
      <div className="card-head">
        <h2>Your sessions</h2>
        <Button busy={endOthers.isPending} onClick={() => endOthers.mutate({})}>
          End all others
        </Button>
      </div>
      {failure && <Failed error={failure} />}
      <QueryResult query={sessions} rows={2}>
        {(list) => (
          <SessionTable
            name="sessions"
            sessions={list}
            onEnd={({ id }) => end.mutate({ params: { login_id: id } })}
          />
        )}
      </QueryResult>
      {provider && (
        <a className="button" href="/auth/oidc?link=1&return_to=/dashboard/me/security">
          Link account of {provider.name}
        </a>
      )}
    </section>
  );
}

interface UserProps {
  readonly user: Reply<'listUsers'>[number];
  readonly onClose: () => void;
}

export function UserSessions({ user, onClose }: UserProps): JSX.Element {
  const params = { user_id: user.user_id };
  const sessions = useCall('listUserSessions', { params });
  const end = useAction('endUserSessions', ['listUserSessions']);
  return (
    <Dialog title={`Sessions of ${user.email}`} open onClose={onClose}>
      {end.error && <Failed error={end.error} />}
      <QueryResult query={sessions} rows={2}>
        {(list) => <SessionTable name="user_sessions" sessions={list} />}
      </QueryResult>
      <Button kind="primary" busy={end.isPending} onClick={() => end.mutate({ params })}>
        Sign out everywhere
      </Button>
    </Dialog>
  );
}
