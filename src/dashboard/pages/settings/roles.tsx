// The roles of a person: one for every environment, and one for each, which may be stronger there.
import { type JSX, useEffect, useState } from 'react';
import { call, type Operation, type Page, type Reply } from '../../lib/api.ts';
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

export const areSameRoles = (roles: readonly Role[], others: readonly Role[]): boolean =>
  roles.length === others.length &&
  roles.every((one) => others.some(({ env, role }) => env === one.env && role === one.role));

interface RolesChange {
  readonly user: User;
  readonly roles: readonly Role[];
  /** The roles that the change is based on. */
  readonly base: readonly Role[];
}

/**
 * Reads a list with roles again: no frame reports a change to roles, and the hub has no condition for one.
 * @returns the row as it is now; undefined if it is gone
 */
export async function reloadRow<R>(operation: Operation, isRow: (row: R) => boolean): Promise<R | undefined> {
  await queries.refetchQueries({ queryKey: [operation], type: 'active' }, { throwOnError: true });
  return queries
    .getQueriesData<{ readonly pages: readonly Page<readonly R[]>[] }>({ queryKey: [operation] })
    .flatMap(([, list]) => list?.pages ?? [])
    .flatMap(({ reply }) => reply)
    .find(isRow);
}

/** @returns null if the list has other roles than `base`: nothing is saved */
async function saveRoles({ user, roles, base }: RolesChange): Promise<User | null> {
  const newest = await reloadRow<User>('listUsers', ({ user_id: id }) => id === user.user_id);
  if (newest && !areSameRoles(newest.roles, base)) return null;
  return call('updateUser', { params: { user_id: user.user_id }, body: { roles: [...roles] } });
}

type Draft = Pick<RolesChange, 'roles' | 'base'> | null;

interface RolesSave {
  readonly isPending: boolean;
  readonly isSuccess: boolean;
  readonly data: object | null | undefined;
  readonly reset: () => void;
}

/**
 * The roles of a form, and those that its changes are based on.
 * @param current the roles of the newest row
 * @param list contains the row, and reloads when the form opens
 * @param save has the answer null if the roles are no longer the base
 */
export function useRolesDraft(
  current: readonly Role[],
  list: 'listUsers' | 'listServiceAccounts',
  save: RolesSave,
) {
  const [draft, setDraft] = useState<Draft>(null);
  const { roles, base } = draft ?? { roles: current, base: current };
  useEffect(() => refresh([list]), [list]);
  const isSaved = save.isSuccess && save.data !== null;
  const settle = (next: Draft): void => {
    save.reset();
    setDraft(next);
  };
  return {
    roles,
    base,
    hasMoved: !areSameRoles(current, base) && !save.isPending && !isSaved,
    setRoles: (next: readonly Role[]): void => setDraft({ roles: next, base }),
    load: () => settle(null),
    keep: () => settle({ roles, base: current }),
  };
}

export function ChangeRoles({ user, onClose }: Readonly<{ user: User; onClose: () => void }>): JSX.Element {
  const update = usePageMutation(saveRoles, () => refresh(['listUsers']));
  const draft = useRolesDraft(user.roles, 'listUsers', update);
  const { roles, base, hasMoved, setRoles } = draft;
  return (
    <Dialog title={`Roles of ${user.email}`} open onClose={onClose}>
      <Form
        by={update}
        act="Save roles"
        isOff={roles.length === 0 || hasMoved}
        onSubmit={() => {
          // The dialog keeps its roles, whatever the list contains now.
          setRoles(roles);
          update.mutate({ user, roles, base }, (saved) => {
            if (saved === null) return;
            say(`Roles of ${user.email} saved.`, 'allow');
            onClose();
          });
        }}
      >
        <RoleEditor roles={roles} onRoles={setRoles} />
        {hasMoved && <EditConflict noun="user's roles" onLoad={draft.load} onKeep={draft.keep} />}
      </Form>
    </Dialog>
  );
}
