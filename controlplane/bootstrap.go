package main

import (
	"context"
	"errors"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	schedulingv1 "k8s.io/kubernetes/pkg/apis/scheduling/v1"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

const bootstrapHook = "bootstrap-roles-and-priorities"

// parallelism is how many requests of one kind of work are under way at once.
const parallelism = 8

// bootstrap writes the default roles, priority classes and storage class once the server serves, and readiness waits for it. The hooks
// of the API server that do so start with a second of waiting and compare with what an older version left; a store that
// is always new needs neither.
func bootstrap(hook genericapiserver.PostStartHookContext) error {
	config := rest.CopyConfig(hook.LoopbackClientConfig)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return inParallel(hook.Context, defaultObjects(client))
}

// inParallel runs the functions, a few at once. That an object exists already is fine.
func inParallel(ctx context.Context, work []func(context.Context) error) error {
	queue := make(chan func(context.Context) error)
	failures := make([]error, parallelism)
	var group sync.WaitGroup
	for worker := range parallelism {
		group.Go(func() {
			for run := range queue {
				if err := run(ctx); err != nil && !apierrors.IsAlreadyExists(err) {
					failures[worker] = errors.Join(failures[worker], err)
				}
			}
		})
	}
	for _, one := range work {
		queue <- one
	}
	close(queue)
	group.Wait()
	return errors.Join(failures...)
}

func defaultObjects(client kubernetes.Interface) []func(context.Context) error {
	var all []func(context.Context) error
	rbac, options := client.RbacV1(), metav1.CreateOptions{}
	for _, class := range schedulingv1.SystemPriorityClasses() {
		all = append(all, func(ctx context.Context) error {
			_, err := client.SchedulingV1().PriorityClasses().Create(ctx, class, options)
			return err
		})
	}
	all = append(all, func(ctx context.Context) error {
		_, err := client.StorageV1().StorageClasses().Create(ctx, newDefaultClass(), options)
		return err
	})
	for _, role := range append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...) {
		all = append(all, func(ctx context.Context) error {
			_, err := rbac.ClusterRoles().Create(ctx, &role, options)
			return err
		})
	}
	for _, binding := range append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...) {
		all = append(all, func(ctx context.Context) error {
			_, err := rbac.ClusterRoleBindings().Create(ctx, &binding, options)
			return err
		})
	}
	for namespace, roles := range bootstrappolicy.NamespaceRoles() {
		for _, role := range roles {
			all = append(all, inNamespace(client, namespace, func(ctx context.Context) error {
				_, err := rbac.Roles(namespace).Create(ctx, &role, options)
				return err
			}))
		}
	}
	for namespace, bindings := range bootstrappolicy.NamespaceRoleBindings() {
		for _, binding := range bindings {
			all = append(all, inNamespace(client, namespace, func(ctx context.Context) error {
				_, err := rbac.RoleBindings(namespace).Create(ctx, &binding, options)
				return err
			}))
		}
	}
	return all
}

// inNamespace makes the namespace first if the server has not got to it yet.
func inNamespace(client kubernetes.Interface, name string, create func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := create(ctx)
		if !apierrors.IsNotFound(err) {
			return err
		}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		return create(ctx)
	}
}
