package group

import (
	"context"
	"errors"
	"reflect"
	"time"
)

// Stage is a group and how long its goroutines may take to end.
type Stage struct {
	Group  *Group
	Budget time.Duration // 0 is no limit
}

// Run waits until ctx ends or a group fails, then stops the groups one after another in the
// given order, each within its budget; the next is stopped even if one did not end. It returns
// nil if ctx has ended and every group ended without an error; otherwise all errors joined, that
// of the group that failed first in front.
func Run(ctx context.Context, stages ...Stage) error {
	cases := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())}}
	for _, s := range stages {
		c := reflect.ValueOf(s.Group.Failed())
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: c})
	}
	var errs []error
	first, _, _ := reflect.Select(cases)
	if first > 0 {
		errs = append(errs, stages[first-1].Group.Err())
	}
	for i, s := range stages {
		err := s.Group.Stop(s.Budget)
		if i == first-1 && errors.Is(err, errs[0]) {
			var late *BudgetError
			if !errors.As(err, &late) {
				continue // it is in front already
			}
			err = late
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
