// People in the console: roles of a user, an invitation from its link to the first page, sessions, and environments.
import { expect, it } from 'vitest';
import { accessible, go, noFaults, type View, view } from './browser.ts';
import { hubOfFile } from './file-hub.ts';
import { library } from './seed.ts';

const { hub, cookie } = await hubOfFile({
  OIDC_ISSUER: 'http://127.0.0.1:9',
  OIDC_CLIENT_ID: 'console',
  OIDC_CLIENT_SECRET: 'a-secret-of-the-client',
  OIDC_NAME: 'Acme',
  OIDC_ROLES: 'here',
});

it('offers the identity provider by its name, and leads back to the page', async () => {
  const guest = await view(hub.url);
  await guest.page.goto('/dashboard/events');
  const link = guest.page.getByRole('link', { name: 'Acme' });
  await link.waitFor();
  await expect.poll(() => link.getAttribute('href')).toBe('/auth/oidc?return_to=%2Fdashboard%2Fexplore');
  await accessible(guest.page);
  await guest.context.close();
});

it('invites a user, who chooses a password behind the link, and whose roles and sessions an admin changes', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/admin/people');
  await page.getByRole('button', { name: 'Add user' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('E-mail').fill('invited@example.com');
  await dialog.getByLabel('Every environment').selectOption('viewer');
  await dialog.getByLabel('Staging').selectOption('operator');
  // A form that the hub refuses once can be sent again as it is: its cause may be gone.
  let isFirst = true;
  await page.route('**/api/v1/users', async (route) => {
    if (route.request().method() !== 'POST' || !isFirst) return route.fallback();
    isFirst = false;
    const detail = [{ loc: ['body', 'email'], msg: 'is on its way out', type: 'value_error' }];
    await route.fulfill({ status: 422, json: { detail } });
  });
  await dialog.getByRole('button', { name: 'Add user' }).click();
  await dialog.getByText(/is on its way out/).waitFor();
  await dialog.getByRole('button', { name: 'Add user' }).click();
  const link = (await dialog.getByText('#invite=').textContent())?.trim() ?? '';
  await accessible(page);
  // Neither a key nor a press beside the dialog loses the link.
  await page.keyboard.press('Escape');
  await page.mouse.click(5, 450);
  await dialog.getByText('#invite=').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  const users = page.getByRole('region', { name: 'Users' });
  await users.getByText('Viewer everywhere, operator in staging').waitFor();
  await users.getByText('invited', { exact: true }).waitFor();

  const guest = await view(hub.url);
  await guest.page.goto(new URL(link).pathname + new URL(link).hash);
  await guest.page.getByRole('heading', { name: 'Choose a password' }).waitFor();
  expect(guest.page.url()).not.toContain('invite');
  await guest.page.getByLabel('Password').fill('a password of my own');
  await accessible(guest.page);
  await guest.page.getByRole('button', { name: 'Set password and sign in' }).click();
  await guest.page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  await go(guest.page, '/me/security');
  const sessions = guest.page.getByRole('region', { name: 'Your sessions' });
  await sessions.getByText('this one').waitFor();
  await sessions.getByText('invitation', { exact: true }).waitFor();
  await go(guest.page, '/admin/assistant');
  await guest.page.getByText('Only an admin can change the provider.').waitFor();
  await go(guest.page, '/admin/environments');
  await guest.page.getByLabel('Protect production').waitFor();
  await expect.poll(() => guest.page.getByLabel('Protect production').count()).toBe(1);
  expect(await guest.page.getByLabel('Protect production').isDisabled()).toBe(true);

  await go(guest.page, '/admin/people');
  await guest.page.getByText('You need the role admin to change users.').waitFor();
  await page.getByRole('button', { name: 'Change roles of invited@example.com' }).click();
  await dialog.getByLabel('Every environment').selectOption('admin');
  await dialog.getByRole('button', { name: 'Save roles' }).click();
  await guest.page.getByRole('region', { name: 'Users' }).waitFor();

  await page.getByRole('button', { name: 'Sessions of invited@example.com' }).click();
  await dialog.getByRole('button', { name: 'Sign out everywhere' }).click();
  await guest.page.getByRole('dialog', { name: 'Sign in again' }).waitFor();
  await page.keyboard.press('Escape');

  await go(page, '/admin/environments');
  await page.getByLabel('Protect production').click();
  await expect
    .poll(async () => (await hub.call('GET', '/api/v1/environments', { cookie })).body.environments[0])
    .toMatchObject({ env: 'production', protected: true });
  await page.getByLabel('Protect production').click();
  noFaults(visit);
  await guest.context.close();
  await visit.context.close();
});

it('saves the roles of a user over those that its form is based on', async () => {
  const email = 'roles@example.com';
  const { body: user } = await hub.call('POST', '/api/v1/users', {
    cookie,
    body: { email, password: 'correct horse battery', roles: [{ role: 'viewer', env: '*' }] },
  });
  const grant = async (env: string): Promise<void> => {
    const body = { roles: [{ role: 'approver', env }] };
    const { status } = await hub.call('PATCH', `/api/v1/users/${user.user_id}`, { cookie, body });
    expect(status).toBe(200);
  };
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const dialog = page.getByRole('dialog', { name: `Roles of ${email}` });
  const notice = dialog.getByText("Another user saved this user's roles");
  const save = dialog.getByRole('button', { name: 'Save roles' });
  await page.goto('/dashboard/admin/people');
  const open = page.getByRole('button', { name: `Change roles of ${email}` });
  await open.waitFor();
  await grant('staging');
  await open.click();
  await expect.poll(() => dialog.getByLabel('Staging').inputValue()).toBe('approver');
  await dialog.getByLabel('Staging').selectOption('operator');
  await grant('production');
  await save.click();
  await notice.waitFor();
  await expect.poll(() => save.isDisabled()).toBe(true);
  await accessible(page);
  await dialog.getByRole('button', { name: 'Load saved version' }).click();
  await notice.waitFor({ state: 'detached' });
  expect(await dialog.getByLabel('Production').inputValue()).toBe('approver');
  await dialog.getByLabel('Production').selectOption('operator');
  await grant('development');
  await save.click();
  await dialog.getByRole('button', { name: 'Keep my changes' }).click();
  await save.click();
  await dialog.waitFor({ state: 'hidden' });
  const users = (await hub.call('GET', '/api/v1/users', { cookie })).body;
  expect(users.find((one: { readonly email: string }) => one.email === email).roles).toEqual([
    { role: 'operator', env: 'production' },
  ]);
  noFaults(visit);
  await visit.context.close();
});

it('lists no sessions that a new password or a new link ended', async () => {
  const body = { email: 'renewed@example.com', password: 'correct horse battery' };
  await hub.call('POST', '/api/v1/users', { cookie, body });
  await hub.login(body.email);
  const own = await view(hub.url, { cookie: await hub.login(body.email) });
  await own.page.goto('/dashboard/me/security');
  const sessions = own.page.getByRole('region', { name: 'Your sessions' }).getByRole('row');
  await expect.poll(() => sessions.count()).toBe(3);
  await own.page.getByLabel('Current password').fill(body.password);
  await own.page.getByLabel('New password').fill('another horse battery');
  await own.page.getByRole('button', { name: 'Change password' }).click();
  await own.page.getByText('Password changed.').waitFor();
  await expect.poll(() => sessions.count()).toBe(2);

  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const rows = page.getByRole('dialog', { name: `Sessions of ${body.email}` }).getByRole('row');
  const openSessions = () => page.getByRole('button', { name: `Sessions of ${body.email}` }).click();
  await page.goto('/dashboard/admin/people');
  await openSessions();
  await expect.poll(() => rows.count()).toBe(2);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: `New link for ${body.email}` }).click();
  await page.getByRole('button', { name: 'Create link' }).click();
  await page.getByText('#invite=').waitFor();
  await page.keyboard.press('Escape');
  await page.getByText('#invite=').waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  await openSessions();
  await expect.poll(() => rows.count()).toBeLessThan(2);
  noFaults(visit);
  await own.context.close();
  await visit.context.close();
});

it('shows roles that changed between the first request and the open stream', async () => {
  const body = {
    email: 'promoted@example.com',
    password: 'correct horse battery',
    roles: [{ role: 'viewer', env: '*' }],
  };
  const { body: user } = await hub.call('POST', '/api/v1/users', { cookie, body });
  const visit = await view(hub.url, { cookie: await hub.login(body.email) });
  const { page } = visit;
  await page.addInitScript('delete globalThis.SharedWorker');
  let connect = (): void => {};
  const released = new Promise<void>((resolve) => {
    connect = resolve;
  });
  await page.routeWebSocket(/stream\/dashboard/, async (socket) => {
    await released;
    socket.connectToServer();
  });
  await page.goto('/dashboard/admin/people');
  await page.getByText('You need the role admin to change users.').waitFor();
  const change = await hub.call('PATCH', `/api/v1/users/${user.user_id}`, {
    cookie,
    body: { is_admin: true },
  });
  expect(change.body).toMatchObject({ is_admin: true });
  connect();
  await page.getByRole('region', { name: 'Users' }).waitFor();
  noFaults(visit);
  await visit.context.close();
});

it('saves the roles of a service account over those that its form is based on', async () => {
  const path = '/api/v1/service-accounts';
  const roles = [{ role: 'operator', env: 'production' }];
  const { body: account } = await hub.call('POST', path, { cookie, body: { name: 'robot', roles } });
  const change = async (body: object): Promise<void> =>
    expect((await hub.call('PATCH', `${path}/${account.id}`, { cookie, body })).status).toBe(200);
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  const dialog = page.getByRole('dialog', { name: 'Change robot' });
  const notice = dialog.getByText('Another user saved this service account');
  const save = dialog.getByRole('button', { name: 'Save', exact: true });
  await page.goto('/dashboard/admin/service-accounts');
  const open = page.getByRole('button', { name: 'Change robot' });
  await open.waitFor();
  await change({ roles: [{ role: 'viewer', env: 'production' }] });
  await open.click();
  await expect.poll(() => dialog.getByLabel('Production').inputValue()).toBe('viewer');
  await dialog.getByLabel('Staging').selectOption('operator');
  await change({ roles: [{ role: 'viewer', env: 'development' }] });
  await save.click();
  await notice.waitFor();
  expect(await save.isDisabled()).toBe(true);
  await dialog.getByRole('button', { name: 'Load saved version' }).click();
  await notice.waitFor({ state: 'detached' });
  expect(await dialog.getByLabel('Production').inputValue()).toBe('');
  await dialog.getByLabel('Staging').selectOption('operator');
  await save.click();
  await dialog.waitFor({ state: 'hidden' });
  const accounts = (await hub.call('GET', path, { cookie })).body;
  expect(accounts.find(({ id }: { readonly id: string }) => id === account.id).roles).toEqual([
    { role: 'viewer', env: 'development' },
    { role: 'operator', env: 'staging' },
  ]);
  noFaults(visit);
  await visit.context.close();
});

it('adds a service account, whose token is shown once and works until it is revoked', async () => {
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  await page.goto('/dashboard/admin/service-accounts');
  await page.getByRole('button', { name: 'Add service account' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('pipeline');
  await accessible(page);
  await dialog.getByRole('button', { name: 'Add service account' }).click();
  const section = page.getByRole('region', { name: 'Service accounts' });
  await section.getByText('Operator in staging', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Tokens of pipeline' }).click();
  await dialog.getByLabel('Label').fill('nightly');
  await dialog.getByLabel('Expires in (days)').fill('7');
  await dialog.getByRole('button', { name: 'Create token' }).click();
  const key = (await dialog.getByText('svt_').textContent())?.trim() ?? '';
  expect((await hub.call('GET', '/api/v1/contracts', { key })).status).toBe(200);
  await dialog.getByText('soon', { exact: true }).waitFor();
  await accessible(page);
  await page.keyboard.press('Escape');
  await dialog.getByText('svt_').waitFor();
  // A second token would take the place of this one.
  expect(await dialog.getByRole('button', { name: 'Create token' }).count()).toBe(0);
  await dialog.getByRole('button', { name: 'Revoke nightly' }).click();
  const question = page.getByRole('dialog', { name: 'Revoke token' });
  await question.getByText(/stop working within a second/).waitFor();
  expect((await hub.call('GET', '/api/v1/contracts', { key })).status).toBe(200);
  await question.getByRole('button', { name: 'Revoke token' }).click();
  await expect.poll(async () => (await hub.call('GET', '/api/v1/contracts', { key })).status).toBe(401);
  await dialog.getByRole('button', { name: 'Close' }).click();
  await page.getByRole('button', { name: 'Tokens of pipeline' }).click();
  await dialog.getByLabel('Label').fill('weekly');
  await dialog.getByLabel('Expires in (days)').fill('13');
  await dialog.getByRole('button', { name: 'Create token' }).click();
  await dialog.getByText('svt_').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await section.getByText('A token of pipeline expires within 14 days.').waitFor();
  await accessible(page);
  await page.getByRole('button', { name: 'Delete pipeline' }).click();
  await dialog.getByRole('button', { name: 'Delete service account' }).click();
  await section.getByText('Operator in staging').waitFor({ state: 'detached' });
  noFaults(visit);
  await visit.context.close();
});

it.each([
  ['/admin/people', 'Add user', 'Add user', '**/api/v1/users'],
  ['/admin/people', 'New link for linked@example.com', 'Create link', '**/api/v1/users/*/invite'],
  ['/admin/service-accounts', 'Tokens of held', 'Create token', '**/api/v1/service-accounts/*/tokens'],
  ['/admin/keys', 'Create key', 'Create key', '**/api/v1/keys'],
])('a dialog of %s stays while the request of "%s" runs, and closes after a failure', async (...row) => {
  const [path, opener, act, route] = row;
  const roles = [{ role: 'viewer', env: '*' }];
  await hub.call('POST', '/api/v1/users', { cookie, body: { email: 'linked@example.com', roles } });
  await hub.call('POST', '/api/v1/service-accounts', { cookie, body: { name: 'held', roles } });
  const visit = await view(hub.url, { cookie });
  const { page } = visit;
  let fail = (): void => {};
  const failure = new Promise<void>((resolve) => {
    fail = resolve;
  });
  await page.route(route, async (request) => {
    if (request.request().method() !== 'POST') return request.continue();
    await failure;
    return request.fulfill({ status: 409, json: { detail: 'Refused for a test', code: 'conflict' } });
  });
  await page.goto(`/dashboard${path}`);
  await page.getByRole('button', { name: opener }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: act }).waitFor();
  for (const [label, value] of [
    ['E-mail', 'pending@example.com'],
    ['Label', 'pending'],
  ] as const) {
    const field = dialog.getByLabel(label);
    if ((await field.count()) > 0) await field.fill(value);
  }
  await dialog.getByRole('button', { name: act }).click();
  await dialog.getByRole('button', { name: 'Close' }).waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await expect.poll(() => dialog.getByRole('button', { name: act }).getAttribute('aria-busy')).toBe('true');
  fail();
  await dialog.getByText('Refused for a test').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  noFaults(visit);
  await visit.context.close();
});

it('keeps off what a role may not do, and says which role is missing', async () => {
  const yaml_content = library.replace('name: shop', 'name: guarded');
  expect((await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content } })).status).toBe(201);
  for (const env of ['staging', 'production'])
    await hub.call('POST', '/api/v1/bundles/guarded/1/deploy', { cookie, body: { env } });
  const signedIn = async (name: string, roles: readonly object[]) => {
    const body = { email: `${name}@example.com`, password: 'correct horse battery', roles };
    expect((await hub.call('POST', '/api/v1/users', { cookie, body })).status).toBe(201);
    return view(hub.url, { cookie: await hub.login(body.email) });
  };

  const end = async (visit: View): Promise<void> => {
    noFaults(visit);
    await visit.context.close();
  };

  const viewer = await signedIn('looks', [{ role: 'viewer', env: '*' }]);
  await viewer.page.goto('/dashboard/bundles/guarded');
  const undeploy = viewer.page.getByRole('button', { name: 'Undeploy from production' });
  await undeploy.waitFor();
  await expect.poll(() => undeploy.getAttribute('aria-disabled')).toBe('true');
  await expect
    .poll(() => undeploy.getAttribute('title'))
    .toBe('You need the role operator in production. Ask an admin.');
  await undeploy.focus();
  await viewer.page.keyboard.press('Enter');
  expect(new URL(viewer.page.url()).pathname).toBe('/dashboard/bundles/guarded');
  // It looks off, and a press says the reason: a touch screen has no tooltips.
  expect(Number(await undeploy.evaluate((one) => getComputedStyle(one).opacity))).toBeLessThan(1);
  await viewer.page.locator('.messages').getByText('You need the role operator in production.').waitFor();
  await accessible(viewer.page);
  const { key } = await hub.key(cookie);
  const events = [{ call_id: 'c', agent_id: 'a', tool_name: 'ship', verdict: 'call_allowed', payload: {} }];
  await hub.call('POST', '/api/v1/events', { key, agent: 'a', body: { events } });
  const { body: calls } = await hub.call('GET', '/api/v1/events?agent_id=a', { cookie });
  await go(viewer.page, `/events/${calls[0].id}`);
  const create = viewer.page.getByRole('button', { name: 'Create contract from event' });
  await expect.poll(() => create.getAttribute('title')).toMatch(/^You need the role \w+\. Ask an admin\.$/);
  await go(viewer.page, '/admin/keys');
  await viewer.page.getByText('Permission denied.').waitFor();
  expect(await viewer.page.getByText('the admin role').count()).toBe(0);
  await end(viewer);

  // With all environments chosen, pages of one environment begin with the person's own.
  const stager = await signedIn('one', [{ role: 'viewer', env: 'staging' }]);
  await stager.page.goto('/dashboard/tools');
  await stager.page.getByText(/MCP servers in staging/).waitFor();
  await end(stager);

  const operator = await signedIn('stages', [
    { role: 'operator', env: 'staging' },
    { role: 'viewer', env: '*' },
  ]);
  const { page } = operator;
  await page.goto('/dashboard/bundles/guarded');
  await page.getByRole('button', { name: 'Undeploy from staging' }).waitFor();
  await expect
    .poll(() => page.getByRole('button', { name: 'Undeploy from staging' }).getAttribute('title'))
    .toBe(null);
  await page.getByRole('button', { name: 'Deploy v1' }).click();
  const dialog = page.getByRole('region', { name: /^(Change|Deployment of) guarded/ });
  await dialog.getByLabel('Environment to deploy to').selectOption('production');
  await dialog.getByText('You need the role operator in production. Ask an admin.').waitFor();
  expect(await dialog.getByRole('button', { name: 'Deploy v1 to production' }).isDisabled()).toBe(true);
  await accessible(page);
  await end(operator);

  await hub.call('PUT', '/api/v1/environments/staging/policy', { cookie, body: { protected: true } });
  const everywhere = await signedIn('everywhere', [{ role: 'operator', env: '*' }]);
  await everywhere.page.goto('/dashboard/bundles/guarded');
  const closed = everywhere.page.getByRole('button', { name: 'Undeploy from staging' });
  await expect
    .poll(() => closed.getAttribute('title'))
    .toBe('staging is protected. You need the role operator for staging itself, or admin.');
  const open = everywhere.page.getByRole('button', { name: 'Undeploy from production' });
  await expect.poll(() => open.getAttribute('title')).toBe(null);
  await hub.call('PUT', '/api/v1/environments/staging/policy', { cookie, body: { protected: false } });
  await end(everywhere);
});
