"""Control theory of queues: operating points, loops with their dead time, designs and their margins."""
