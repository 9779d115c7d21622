/* tools/cluster/kubernetes.h - a plan's tasks as a manifest for Kubernetes: an Indexed Job, and a Job that
 * waits for the results and merges them. batch/v1 as published for version 1.29, from which on tries are
 * counted by index.
 */
#ifndef TOOLS_CLUSTER_KUBERNETES_H
#define TOOLS_CLUSTER_KUBERNETES_H

#include <sb/error.h>

#include "cluster/batch.h"

/* For kubectl apply. Zero or a negative code: the job does not say what is needed. */
int kubernetes_print(const struct batch *batch, struct sb_error *err);

#endif
