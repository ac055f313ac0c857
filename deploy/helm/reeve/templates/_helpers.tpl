{{- define "reeve.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end -}}
{{- end -}}

{{- define "reeve.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "reeve.labels" -}}
{{ include "reeve.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* The pods of both modes differ in their data folder alone. */}}
{{- define "reeve.pod" -}}
metadata:
  labels:
    {{- include "reeve.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  {{- with .Values.podAnnotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  automountServiceAccountToken: false
  # Streams end over drainSeconds; then calls and stores have half a minute.
  terminationGracePeriodSeconds: {{ add (int .Values.drainSeconds) (int .Values.preStopSeconds) 35 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    seccompProfile: { type: RuntimeDefault }
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if and (eq .Values.mode "cluster") .Values.topologySpread.enabled }}
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: {{ $.Values.topologySpread.whenUnsatisfiable }}
      labelSelector:
        matchLabels: {{- include "reeve.selector" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  containers:
    - name: hub
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      env:
        - { name: HOST, value: "0.0.0.0" }
        - { name: PORT, value: "8000" }
        - { name: DATA_DIR, value: /data }
        - { name: DRAIN_SECONDS, value: {{ .Values.drainSeconds | quote }} }
        {{- with .Values.baseUrl }}
        - { name: BASE_URL, value: {{ . | quote }} }
        {{- end }}
        {{- range .Values.secretKeys }}
        {{- if or (eq $.Values.mode "cluster") (not (has . (list "MONGODB_URL" "REDIS_URL"))) }}
        - { name: {{ . }}_FILE, value: /run/secrets/reeve/{{ . }} }
        {{- end }}
        {{- end }}
        {{- range $name, $value := .Values.settings }}
        - { name: {{ $name }}, value: {{ $value | quote }} }
        {{- end }}
      ports:
        - { name: http, containerPort: 8000 }
      startupProbe:
        httpGet: { path: /api/v1/health/live, port: http }
        periodSeconds: 2
        failureThreshold: 150
      livenessProbe:
        httpGet: { path: /api/v1/health/live, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: "/api/v1/health/ready?scope=node", port: http }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 3
      lifecycle:
        preStop:
          exec: { command: [sleep, {{ .Values.preStopSeconds | quote }}] }
      resources: {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - { name: secrets, mountPath: /run/secrets/reeve, readOnly: true }
        - { name: tmp, mountPath: /tmp }
        - { name: data, mountPath: /data }
  volumes:
    - name: secrets
      secret:
        secretName: {{ required "existingSecret: name the Secret with the hub's secrets" .Values.existingSecret }}
        defaultMode: 0440
    - { name: tmp, emptyDir: {} }
    {{- if eq .Values.mode "cluster" }}
    - { name: data, emptyDir: {} }
    {{- end }}
{{- end -}}
