{{- define "myriad.labels" -}}
app.kubernetes.io/name: myriad
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "myriad.gatewayLabels" -}}
app.kubernetes.io/name: myriad-gateway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Of the pods that hold players. */}}
{{- define "myriad.playersLabels" -}}
{{- if .Values.gateways.enabled }}{{ include "myriad.gatewayLabels" . }}{{ else }}{{ include "myriad.labels" . }}{{ end }}
{{- end }}

{{- define "myriad.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "myriad.hasWorld" -}}
{{- if or .Values.world.file .Values.world.configMap .Values.world.image }}yes{{ end }}
{{- end }}

{{- define "myriad.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* A file's key in a config map, which has no slashes. */}}
{{- define "myriad.key" -}}
{{ . | replace "/" "__" }}
{{- end }}

{{/* What all containers have of the world and its folder. */}}
{{- define "myriad.mounts" -}}
- name: data
  mountPath: /data
- name: tmp
  mountPath: /tmp
{{- if include "myriad.hasWorld" . }}
- name: world
  mountPath: /etc/myriad/world
  readOnly: {{ not .Values.world.image }}
{{- end }}
{{- end }}

{{- define "myriad.worldVariable" -}}
{{- if include "myriad.hasWorld" . }}
- name: MYRIAD_WORLD
  value: /etc/myriad/world/world.toml
{{- end }}
{{- end }}

{{/* The secrets that are mounted, by folder. */}}
{{- define "myriad.secrets" -}}
{{- with .Values.secrets }}
{{- if .certificate }}
certificate: {{ .certificate }}
{{- end }}
{{- if .token }}
token: {{ .token }}
{{- end }}
{{- if .accountKey }}
account: {{ .accountKey }}
{{- end }}
{{- if .jwtKeys }}
jwt: {{ .jwtKeys }}
{{- end }}
{{- if .dashboardToken }}
dashboard: {{ .dashboardToken }}
{{- end }}
{{- if .linkKey }}
link: {{ .linkKey }}
{{- end }}
{{- if .lease }}
lease: {{ .lease }}
{{- end }}
{{- end }}
{{- end }}
