// The roles of a person: one for every environment, and one for each, which may be stronger there.
import { type JSX, useEffect, useState } from 'react';
import { call, type Page, type Reply } from '../../lib/api.ts';
import { usePageMutation } from '../../lib/mutation.ts';
import { queries, refresh } from '../../lib/query.ts';
import { type Role, roleNames } from '../../lib/roles.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { EditConflict } from '../../ui/edit-conflict.tsx';
import { Form, Select } from '../../ui/form.tsx';
import { say } from '../../ui/messages.tsx';

const places = [
  ['*', 'Every environment'],
  ['production', 'Production'],
  ['staging', 'Staging'],
  ['development', 'Development'],
] as const satisfies readonly (readonly [Role['env'], string])[];

interface EditorProps {
  readonly roles: readonly Role[];
  readonly onRoles: (roles: readonly Role[]) => void;
}

export function RoleEditor({ roles, onRoles }: EditorProps): JSX.Element {
  const isAdmin = roles.some(({ role }) => role === 'admin');
  const change = (env: Role['env'], role: string): void => {
    const others = role === 'admin' ? [] : roles.filter((one) => one.env !== env);
    onRoles(role === '' ? others : [...others, { role: role as Role['role'], env }]);
  };
  return (
    <fieldset className="fields">
      <legend>Roles</legend>
      {places
        .filter(([env]) => !isAdmin || env === '*')
        .map(([env, label]) => (
          <Select
            key={env}
            label={label}
            value={roles.find((one) => one.env === env)?.role ?? ''}
            onValue={(role) => change(env, role)}
            options={[
              ['', 'No role'],
              ...Object.entries(roleNames).filter(([role]) => env === '*' || role !== 'admin'),
            ]}
          />
        ))}
      <p className="field-help">
        A viewer reads, an approver also decides approvals, an operator also changes contracts and deploys, an
        admin also manages people, keys and settings. Each includes the ones before it.
      </p>
    </fieldset>
  );
}

type User = Reply<'listUsers'>[number];

const hasRoles = ({ roles }: Pick<User, 'roles'>, others: readonly Role[]): boolean =>
  roles.length === others.length &&
  roles.every((one) => others.some(({ env, role }) => env === one.env && role === one.role));

interface RolesChange {
  readonly user: User;
  readonly roles: readonly Role[];
  /** The roles that the change is based on. */
  readonly base: readonly Role[];
}

/**
 * Reads the list again: no frame reports a change to roles, and the hub has no condition for one.
 * @returns null if the list has other roles than `base`: nothing is saved
 */
async function saveRoles({ user, roles, base }: RolesChange): Promise<User | null> {
  await queries.refetchQueries({ queryKey: ['listUsers'], type: 'active' }, { throwOnError: true });
  const newest = queries
    .getQueriesData<{ readonly pages: readonly Page<readonly User[]>[] }>({ queryKey: ['listUsers'] })
    .flatMap(([, list]) => list?.pages ?? [])
    .flatMap(({ reply }) => reply)
    .find(({ user_id: id }) => id === user.user_id);
  if (newest && !hasRoles(newest, base)) return null;
  return call('updateUser', { params: { user_id: user.user_id }, body: { roles: [...roles] } });
}

export function ChangeRoles({ user, onClose }: Readonly<{ user: User; onClose: () => void }>): JSX.Element {
  const update = usePageMutation(saveRoles, () => refresh(['listUsers']));
  const [draft, setDraft] = useState<Pick<RolesChange, 'roles' | 'base'> | null>(null);
  const { roles, base } = draft ?? { roles: user.roles, base: user.roles };
  useEffect(() => refresh(['listUsers']), []);
  const isSaved = update.isSuccess && update.data !== null;
  const hasMoved = !hasRoles(user, base) && !update.isPending && !isSaved;
  const settle = (next: typeof draft): void => {
    update.reset();
    setDraft(next);
  };
  return (
    <Dialog title={`Roles of ${user.email}`} open onClose={onClose}>
      <Form
        by={update}
        act="Save roles"
        isOff={roles.length === 0 || hasMoved}
        onSubmit={() => {
          // The dialog keeps its roles, whatever the list contains now.
          setDraft({ roles, base });
          update.mutate({ user, roles, base }, (saved) => {
            if (saved === null) return;
            say(`Roles of ${user.email} saved.`, 'allow');
            onClose();
          });
        }}
      >
        <RoleEditor roles={roles} onRoles={(next) => setDraft({ roles: next, base })} />
        {hasMoved && (
          <EditConflict
            noun="user's roles"
            onLoad={() => settle(null)}
            onKeep={() => settle({ roles, base: user.roles })}
          />
        )}
      </Form>
    </Dialog>
  );
}
