// The entry of the web console: requests the signed-in person while React starts, then displays the frame with the page
// in the address.
import './styles/tokens.css';
import './styles/layout.css';
import './styles/base.css';
import './styles/frame.css';
import './styles/top-bar.css';
import './styles/controls.css';
import './styles/data.css';
import './styles/page.css';
import './styles/layers.css';
import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClientProvider } from '@tanstack/react-query';
import { createRootRoute, createRoute, createRouter, RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { pageCode } from './frame/page-code.tsx';
import { NotFound, PageFailed, RequireSignIn } from './frame/require-sign-in.tsx';
import { arrive, scopeForLinks } from './lib/arrival.ts';
import { takeToken } from './lib/login-link.ts';
import { askWho } from './lib/me.ts';
import { queries } from './lib/query.ts';
import { parseSearch, writeSearch } from './lib/search.ts';
import { askAhead } from './pages/home/ahead.ts';
import { adminPages, ownPages, pages, thingPages } from './pages/registry.ts';
import { Messages } from './ui/messages.tsx';

askWho();
const link = takeToken('login');
const invite = takeToken('invite');
arrive();
askAhead(location);

const root = createRootRoute({
  component: () => <RequireSignIn link={link} invite={invite} />,
  notFoundComponent: NotFound,
  errorComponent: ({ error }) => <PageFailed error={error as Error} />,
  search: { middlewares: [({ search, next }) => ({ ...scopeForLinks(search), ...next(search) })] },
});
const router = createRouter({
  routeTree: root.addChildren(
    [...pages, ...adminPages, ...ownPages, ...thingPages].map(({ path, load }) =>
      createRoute({ getParentRoute: () => root, path, component: pageCode(load) }),
    ),
  ),
  basepath: '/dashboard',
  parseSearch,
  stringifySearch: writeSearch,
  defaultPreload: 'intent',
  scrollRestoration: false,
});

const place = document.getElementById('root');
if (place) {
  createRoot(place).render(
    <StrictMode>
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={queries}>
          <RouterProvider router={router} />
          <Messages />
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  );
}
