# The hub as an image: compiled with the development packages, run with the others, by a user without rights, on a root that may be read-only.
# Debian 12 has the glibc (2.36) and Node 20 the ABI that the native HTTP server is built for; neither Alpine nor a newer Node loads it.
FROM node:20-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/agent/package.json packages/agent/
RUN npm ci
COPY scripts ./scripts
COPY packages ./packages
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY actors ./actors
COPY adapters ./adapters
COPY bench ./bench
COPY demo ./demo
RUN npm run build && rm -rf dist/bench dist/demo

FROM node:20-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/agent/package.json packages/agent/
COPY scripts/without-optional-peers.mjs scripts/
# The server's binaries for other systems and other Nodes are left out.
RUN node scripts/without-optional-peers.mjs && npm ci --omit=dev \
  && find node_modules/uWebSockets.js -name 'uws_*.node' ! -name 'uws_linux_*_115.node' -delete

FROM node:20-bookworm-slim
ENV NODE_ENV=production DATA_DIR=/data PORT=8000
WORKDIR /app
# Volumes mounted here take over the owner.
RUN mkdir /data /secrets && chown node:node /data /secrets && chmod 700 /data /secrets
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# node_modules/reeve-agent is a link to this folder.
COPY --from=build /app/packages/agent/package.json ./packages/agent/
COPY --from=build /app/packages/agent/dist ./packages/agent/dist
COPY package.json LICENSE ./
USER node
VOLUME /data
EXPOSE 8000
# Alive, not ready: a hub that waits for its store must not be restarted for it.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/api/v1/health/live`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Node as process 1 gets SIGTERM itself.
CMD ["node", "dist/src/main.js"]
