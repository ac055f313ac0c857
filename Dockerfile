# Image of the hub: compiled with the development packages, run without them, by an unprivileged user, on a root that can be read-only.
# Debian 13 has the glibc (2.41) that the native HTTP server's binary for Node 24 needs (2.38); Alpine has none.
FROM node:24-trixie-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/agent/package.json packages/agent/
RUN npm ci
COPY scripts ./scripts
COPY docs ./docs
COPY packages ./packages
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY actors ./actors
COPY adapters ./adapters
COPY bench ./bench
COPY demo ./demo
RUN npm run build && rm -rf dist/bench dist/demo

FROM node:24-trixie-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/agent/package.json packages/agent/
COPY scripts/without-optional-peers.mjs scripts/
# Removes the server's binaries for other systems and other Node versions.
RUN node scripts/without-optional-peers.mjs && npm ci --omit=dev \
  && find node_modules/uWebSockets.js -name 'uws_*.node' ! -name 'uws_linux_*_137.node' -delete

FROM node:24-trixie-slim
ENV NODE_ENV=production DATA_DIR=/data PORT=8000
WORKDIR /app
# Volumes mounted here inherit the owner.
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
# Liveness, not readiness: a hub that waits for its store must not be restarted.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/api/v1/health/live`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# As process 1, Node receives SIGTERM itself.
CMD ["node", "dist/src/main.js"]
