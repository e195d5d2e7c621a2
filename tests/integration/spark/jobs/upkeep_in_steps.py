"""The compaction's own worker, which says where it is: it has read, written, checked."""

from signs import here

from airflow_coordination.spark import upkeep


def and_say(name, function):
    """Return a function that says, when it is done, that it is."""

    def said(*arguments):
        result = function(*arguments)
        here(name)
        return result

    return said


for step, name in {"read": "merged_rows", "written": "_write", "checked": "check_walk"}.items():
    setattr(upkeep, name, and_say(step, getattr(upkeep, name)))

if __name__ == "__main__":
    upkeep.compact()
